"""What `prepare` wrote, as flat arrays of frames on the training device, and batches cut out of them."""
from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import torch
import torch.nn.functional as F

import bnw
import footage
import scene


def _decode(stream: bytes, width: int, height: int) -> np.ndarray:
    """Lumas [frame][h][w], by the program `ffmpeg` (or the one FFMPEG names), else by PyAV, else by OpenCV."""
    program = os.environ.get("FFMPEG") or shutil.which("ffmpeg")
    if not program:
        import coding

        return np.stack(coding.decode(stream)[0])
    raw = subprocess.run([program, "-v", "error", "-threads", "1", "-f", "h264", "-i", "pipe:0",
                          "-fps_mode", "passthrough", "-f", "rawvideo", "pipe:1"], input=stream, stdout=subprocess.PIPE, check=True).stdout
    chroma = ((width + 1) // 2) * ((height + 1) // 2)
    return np.frombuffer(raw, np.uint8).reshape(-1, width * height + 2 * chroma)[:, : width * height].reshape(-1, height, width)


@lru_cache(maxsize=100)
def _photograph(path: str) -> np.ndarray:
    return cv2.imread(path, cv2.IMREAD_GRAYSCALE)


def _make(job: tuple[str, dict]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None, float]]:
    """Of each used frame: large, small clean, small coded, the quantiser to tell the network."""
    data, s = job
    cv2.setNumThreads(1)
    used = scene.USED if "size" in s else (0,)
    if "clip" in s:
        larges = [cv2.imread(f"{data}/clips/{s['clip']}/{s['start'] + t:03d}.png", 0) for t in used]
    else:
        picture = _photograph(f"{data}/photographs/{s['photograph']:03d}.jpg")
        larges = [scene.large(picture, s, t) for t in used]
    smalls = [scene.small(p, s["down"]) for p in larges]
    if "size" not in s:
        return [(larges[0], smalls[0], None, 0.0)]
    with open(f"{data}/streams.bin", "rb") as f:
        f.seek(s["offset"])
        coded = _decode(f.read(s["size"]), smalls[0].shape[1], smalls[0].shape[0])
    out, q = [], s["quantisers"]
    for k, t in enumerate(used):
        # Half are told this frame's quantiser, half the mean of the last eight: a relay may smooth it.
        told = q[t] if (s["offset"] + k) % 2 else float(np.mean(q[max(0, t - 7) : t + 1]))
        out.append((larges[k], smalls[k], coded[t], max(told, 1.0)))
    return out


def bucket(quantiser: float) -> int:
    return next(i for i, edge in enumerate(bnw.EDGES) if edge >= int(quantiser + 0.5))


@dataclass
class Arrays:
    """All frames, flat; per frame where its small and its large picture begin, the small size, the bucket, and where the
    same frame's uncoded small picture begins."""
    small: np.ndarray
    large: np.ndarray
    table: np.ndarray
    #: By "clip/kind": large, small as it is given, quantiser.
    validation: dict[str, list[tuple[np.ndarray, np.ndarray, float]]]

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("small", "large", "table"):
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / "validation.pickle").write_bytes(pickle.dumps(self.validation))

    @staticmethod
    def load(folder: Path, only_small: bool = False) -> Arrays:
        """With `only_small` without the large pictures, which nothing then reads."""
        read = lambda name: np.load(folder / f"{name}.npy")
        return Arrays(read("small"), np.zeros(0, np.uint8) if only_small else read("large"), read("table"),
                      pickle.loads((folder / "validation.pickle").read_bytes()))

    def __add__(self, other: Arrays) -> Arrays:
        moved = other.table + np.array([len(self.small), len(self.large), 0, 0, 0, len(self.small)])
        return Arrays(np.concatenate([self.small, other.small]), np.concatenate([self.large, other.large]),
                      np.concatenate([self.table, moved]), self.validation | other.validation)


class _Collector:
    def __init__(self):
        self.smalls, self.larges, self.table, self.position, self.at = [], [], [], 0, 0

    def add(self, large: np.ndarray, small: np.ndarray, coded: list[tuple[np.ndarray, float]]) -> None:
        (h, w), clean = small.shape, self.position
        for picture, b in ((small, 0), *((c, bucket(q)) for c, q in coded)):
            self.table.append((self.position, self.at, h, w, b, clean))
            self.smalls.append(picture.reshape(-1))
            self.position += h * w
        self.larges.append(large.reshape(-1))
        self.at += large.size

    def arrays(self, validation: dict) -> Arrays:
        return Arrays(np.concatenate(self.smalls), np.concatenate(self.larges), np.array(self.table, np.int64), validation)


def photographs(data: Path, clean: int, workers: int, limit: int | None = None) -> Arrays:
    """The coded scenes and clips of streams.bin, and so many scenes of one uncoded frame."""
    index = json.loads((data / "index.json").read_text())
    streams = index["streams"][:limit]
    rng = np.random.default_rng(5)
    chance = np.array(index["chance"])
    extra = [scene.describe(rng, k, tuple(index["photographs"][k]), coded=False)
             for k in rng.choice(len(chance), clean, p=chance).tolist()]
    all, validation = _Collector(), {}
    jobs = [(str(data), s) for s in extra + streams]
    with ProcessPoolExecutor(workers) as pool:
        for (_, s), made in zip(jobs, pool.map(_make, jobs, chunksize=8)):
            if s.get("side") == "validation":
                name = f"{s['clip']}"
                validation[f"{name}/{int(s['crf'])}"] = [(l, c, q) for l, _, c, q in made]
                validation[f"{name}/clean"] = [(l, c, 0.0) for l, c, _, _ in made]
                continue
            for large, small, coded, q in made:
                all.add(large, small, [] if coded is None else [(coded, q)])
    return all.arrays(validation)


def clips(data: Path, workers: int, limit: int | None = None) -> Arrays:
    """The clips of footage.json at any quality."""
    index = json.loads((data / "index.json").read_text())
    rng, listed, folder = np.random.default_rng(6), index["footage"], data / "footage"
    stretches = [footage.at_any_quality(s, rng) for c in listed if c["side"] == "train" for s in footage.describe(c, rng)][:limit]
    all, validation = _Collector(), {}
    with ThreadPoolExecutor(workers) as pool:
        made = [pool.submit(footage.stretch, folder, s) for s in stretches]
        told = [c for c in listed if c["side"] == "validation"][:limit]
        for found in pool.map(lambda c: footage.validation_by_quality(folder, c), told):
            validation |= found
        for frame in (frame for job in made for frame in job.result()):
            all.add(*frame)
    return all.arrays(validation)


def whole(data: Path, workers: int, limit: int | None = None) -> Arrays:
    """The clips of footage.json coded at nearly their own size, for networks that restore. There are no larger pictures."""
    index = json.loads((data / "index.json").read_text())
    rng, listed, folder = np.random.default_rng(7), index["footage"], data / "footage"
    stretches = [footage.whole(s, rng) for c in listed if c["side"] == "train" for s in footage.describe(c, rng)][:limit]
    all, validation, none = _Collector(), {}, np.zeros(0, np.uint8)
    with ThreadPoolExecutor(workers) as pool:
        made = [pool.submit(footage.coded_whole, folder, s) for s in stretches]
        for found in pool.map(lambda c: footage.validation_whole(folder, c), [c for c in listed if c["side"] == "validation"][:limit]):
            validation |= found
        for picture, coded in (frame for job in made for frame in job.result()):
            all.add(none, picture, coded)
    return all.arrays(validation)


def _as_called(job: tuple[Path, dict]) -> footage.Made:
    data, s = job
    cv2.setNumThreads(1)
    if "file" in s:
        return footage.stretch(data / "footage", s)
    return footage.photograph(_photograph(f"{data}/photographs/{s['photograph']:03d}.jpg"), s["photograph"], s["seed"])


def calls(data: Path, scenes: int, workers: int, limit: int | None = None, rounds: int = 1) -> Arrays:
    """The clips, coded as calls are, so often and each time otherwise, and scenes out of photographs, which are coded here."""
    index = json.loads((data / "index.json").read_text())
    rng, clips, folder = np.random.default_rng(4), index["footage"], data / "footage"
    stretches = [s for _ in range(rounds) for c in clips if c["side"] == "train" for s in footage.describe(c, rng)][:limit]
    chance = np.array(index["chance"])
    photographs = rng.choice(len(chance), scenes, p=chance).tolist()[:limit]
    jobs = [(data, s) for s in stretches] + [(data, {"photograph": k, "seed": n}) for n, k in enumerate(photographs)]
    all, validation = _Collector(), {}
    with ThreadPoolExecutor(workers) as pool:
        for found in pool.map(lambda c: footage.validation(folder, c), [c for c in clips if c["side"] == "validation"][:limit]):
            validation |= found
    with ProcessPoolExecutor(workers) as pool:
        for frame in (frame for made in pool.map(_as_called, jobs, chunksize=4) for frame in made):
            all.add(*frame)
    return all.arrays(validation)


def _scene(job: tuple[Path, dict]) -> footage.Made:
    data, s = job
    cv2.setNumThreads(1)
    return footage.scene_at_any_quality(_photograph(f"{data}/photographs/{s['photograph']:03d}.jpg"), **s["how"])


def scenes(data: Path, coded: int, clean: int, workers: int, limit: int | None = None) -> Arrays:
    """So many scenes out of photographs, coded here, and so many of one uncoded frame."""
    chance = np.array(json.loads((data / "index.json").read_text())["chance"])
    chosen = np.random.default_rng(8).choice(len(chance), coded + clean, p=chance).tolist()
    jobs = [(data, {"photograph": k, "how": {"index": k, "seed": n, "coded": n < coded}}) for n, k in enumerate(chosen)]
    # Scenes of one photograph together: it is decoded once.
    jobs = sorted(jobs, key=lambda job: job[1]["photograph"])[:limit]
    all = _Collector()
    with ProcessPoolExecutor(workers) as pool:
        for frame in (frame for made in pool.map(_scene, jobs, chunksize=16) for frame in made):
            all.add(*frame)
    return all.arrays({})


class Frames:
    """All frames on the training device."""

    def __init__(self, arrays: Arrays, device: str):
        self.small = torch.from_numpy(arrays.small).to(device)
        self.large = torch.from_numpy(arrays.large).to(device)
        self.table = torch.from_numpy(arrays.table).to(device)
        self.validation = arrays.validation
        self.device = device

    #: The deviation of a patch that holds detail enough.
    least_detail = 3.5

    def places(self, size: int, grid: int = 8) -> None:
        """Lists the patches of size x size small samples that hold some detail, by bucket."""
        found = []
        cpu = self.table.cpu().tolist()
        for n, (s, _, h, w, b, _) in enumerate(cpu):
            if h < size or w < size:
                continue
            picture = self.small[s : s + h * w].view(1, 1, h, w).float()
            mean = F.avg_pool2d(picture, size, grid)
            deviation = (F.avg_pool2d(picture**2, size, grid) - mean**2).clamp_min(0).sqrt()[0, 0]
            y, x = torch.nonzero(deviation >= self.least_detail, as_tuple=True)
            found.append(torch.stack([torch.full_like(y, b), torch.full_like(y, n), y * grid, x * grid], 1))
        found = torch.cat(found)
        found = found[torch.argsort(found[:, 0], stable=True)]
        counts = torch.bincount(found[:, 0], minlength=len(bnw.EDGES))
        self.place, self.count, self.first = found[:, 1:].contiguous(), counts, torch.cumsum(counts, 0) - counts
        # Each frame's places follow each other.
        self.frameCount = torch.bincount(self.place[:, 0], minlength=len(self.table))
        starts = torch.nonzero(torch.diff(self.place[:, 0], prepend=self.place.new_full((1,), -1)))[:, 0]
        self.frameFirst = torch.zeros_like(self.frameCount).scatter_(0, self.place[starts, 0], starts)
        self.size = size

    def batch(
        self, count: int, radius: int, chance: torch.Tensor, group: int = 1
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Small patches with border [n][1][..][..], their buckets, the large patches [n][1][2 size][2 size], as floats.
        So many patches at a time are of one frame. Every operation has a fixed shape and stays on the device: it can be
        captured in a CUDA graph."""
        dev, size = self.device, self.size
        bucket = torch.multinomial(chance, count // group, replacement=True)
        k = self.first[bucket] + (torch.rand(count // group, device=dev) * self.count[bucket]).long()
        if group > 1:
            frame, bucket = self.place[k, 0].repeat_interleave(group), bucket.repeat_interleave(group)
            k = self.frameFirst[frame] + (torch.rand(count, device=dev) * self.frameCount[frame]).long()
        frame, y0, x0 = self.place[k].unbind(1)
        s, l, h, w, _, _ = self.table[frame].unbind(1)
        flips = torch.rand(2, count, 1, device=dev) < 0.5
        around, inside = torch.arange(-radius, size + radius, device=dev)[None], torch.arange(2 * size, device=dev)[None]
        turn = lambda v, flip: torch.where(flip, v.flip(1), v)
        y = turn(torch.minimum((y0[:, None] + around).clamp_min(0), h[:, None] - 1), flips[0])
        x = turn(torch.minimum((x0[:, None] + around).clamp_min(0), w[:, None] - 1), flips[1])
        Y, X = turn(2 * y0[:, None] + inside, flips[0]), turn(2 * x0[:, None] + inside, flips[1])
        small = self.small[s[:, None, None] + y[:, :, None] * w[:, None, None] + x[:, None, :]].float()
        large = self.large[l[:, None, None] + Y[:, :, None] * (2 * w)[:, None, None] + X[:, None, :]].float()
        half = count // group // 2 * group
        small = torch.cat([small[:half].transpose(1, 2), small[half:]])
        large = torch.cat([large[:half].transpose(1, 2), large[half:]])
        return small[:, None], bucket, large[:, None]


class Pairs(Frames):
    """The coded small pictures and the same ones uncoded, for a network that restores at the same size. It sees and gives
    the four phases of a 2x2 grid."""

    least_detail = 1.5

    def batch(
        self, count: int, radius: int, chance: torch.Tensor, group: int = 1
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """As of Frames, but the given patches are [n][4][..][..] with a border of `radius` samples of each phase, and the
        wanted ones have the same `size`."""
        dev, size = self.device, self.size // 2
        bucket = torch.multinomial(chance, count, replacement=True)
        k = self.first[bucket] + (torch.rand(count, device=dev) * self.count[bucket]).long()
        frame, y0, x0 = self.place[k].unbind(1)
        s, _, h, w, _, clean = self.table[frame].unbind(1)
        flips = torch.rand(2, count, 1, device=dev) < 0.5
        around = torch.arange(-2 * radius, 2 * (size + radius), device=dev)[None]
        turn = lambda v, flip: torch.where(flip, v.flip(1), v)
        y = turn(torch.minimum((y0[:, None] + around).clamp_min(0), h[:, None] - 1), flips[0])
        x = turn(torch.minimum((x0[:, None] + around).clamp_min(0), w[:, None] - 1), flips[1])
        at = y[:, :, None] * w[:, None, None] + x[:, None, :]
        coded = self.small[s[:, None, None] + at].float()
        inside = slice(2 * radius, 2 * (radius + size))
        wanted = self.small[clean[:, None, None] + at[:, inside, inside]].float()
        half = count // 2
        coded = torch.cat([coded[:half].transpose(1, 2), coded[half:]])
        wanted = torch.cat([wanted[:half].transpose(1, 2), wanted[half:]])
        return F.pixel_unshuffle(coded[:, None], 2), bucket, wanted[:, None]
