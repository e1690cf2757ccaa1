"""What `fit` says of a network while it trains: its gains on the validation clips."""
from __future__ import annotations

import cv2
import numpy as np
import torch
import torch.nn.functional as F

import bnw
from dataset import Frames, Pairs
from detail import Detail
from network import base
from psnr import psnr  # of tools/lib, which fit puts on the path


def validator(frames: Frames, lost: bool = False):
    """Gains over Lanczos by kind of input, their mean over the validation clips, as one line; with `lost` also what Detail
    says."""
    if isinstance(frames, Pairs):
        return _restoration(frames)
    lanczos = {k: np.mean([psnr(cv2.resize(s, l.shape[::-1], interpolation=cv2.INTER_LANCZOS4), l, 8) for l, s, _ in v])
               for k, v in frames.validation.items()}

    judges: dict[tuple[int, ...], Detail] = {}

    @torch.no_grad()
    def check(net) -> str:
        gains, radius, points = {}, len(net.widths) - 1, {}
        for key, pictures in frames.validation.items():
            values = []
            for large, small, q in pictures:
                x = torch.from_numpy(np.pad(small, radius, mode="edge")).to(frames.device).float()[None, None]
                bucket = torch.tensor([next(i for i, e in enumerate(bnw.EDGES) if e >= int(q + 0.5))], device=frames.device)
                y = (base(x, radius) + F.pixel_shuffle(net(x, bucket), 2)).add(0.5).floor().clamp(0, 255)
                values.append(psnr(y[0, 0].cpu().numpy(), large, 8))
                if lost:
                    if large.shape not in judges:
                        judges[large.shape] = Detail(*large.shape).to(frames.device)
                    judge = judges[large.shape]
                    points.setdefault(key.split("/")[1], []).append(float(judge(y, torch.from_numpy(large).to(y)[None, None])))
            gains.setdefault(key.split("/")[1], []).append(np.mean(values) - lanczos[key])
        spread = lambda v: f" ({min(v):+.2f}…{max(v):+.2f})"
        told = lambda k: f" ({np.mean(points[k]):.2f})" if lost else ""
        return " ".join(f"{k} {np.mean(v):+.3f}{spread(v)}{told(k)}" for k, v in sorted(gains.items()))

    return check



def _restoration(frames: Pairs):
    """What a network that restores at the same size gains over its input."""

    @torch.no_grad()
    def check(net) -> str:
        gains, radius = {}, len(net.widths) - 1
        for key, pictures in frames.validation.items():
            clip, kind = key.split("/")
            if kind == "clean":
                continue
            values = []
            for (_, coded, q), (_, wanted, _) in zip(pictures, frames.validation[f"{clip}/clean"]):
                coded, wanted = (p[: p.shape[0] // 2 * 2, : p.shape[1] // 2 * 2] for p in (coded, wanted))
                x = F.pixel_unshuffle(torch.from_numpy(np.pad(coded, 2 * radius, mode="edge")).to(frames.device).float()[None, None], 2)
                bucket = torch.tensor([next(i for i, e in enumerate(bnw.EDGES) if e >= int(q + 0.5))], device=frames.device)
                y = (base(x, radius) + F.pixel_shuffle(net(x, bucket), 2)).add(0.5).floor().clamp(0, 255)
                values.append(psnr(y[0, 0].cpu().numpy(), wanted, 8) - psnr(coded, wanted, 8))
            gains.setdefault(kind, []).append(np.mean(values))
        return " ".join(f"{k} {np.mean(v):+.3f} ({min(v):+.2f}…{max(v):+.2f})" for k, v in sorted(gains.items()))

    return check
