"""reference.py's result, bit for bit, through PyTorch's convolutions: sums of these integers stay below 2^24, where
fp32 holds every one, and what follows is done in int32. For tables over many frames."""
from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

import bnw
import network
import reference


def extended(luma: np.ndarray, radius: int, in_phases: bool) -> torch.Tensor:
    """What a network of this radius sees of a picture, [1][1][..][..], or [1][4][..][..] of a 2x2 grid's phases."""
    x = torch.from_numpy(np.pad(luma, 2 * radius if in_phases else radius, mode="edge").astype(np.float32))[None, None]
    return F.pixel_unshuffle(x, 2) if in_phases else x


class Upscaler:
    def __init__(self, weights: bnw.Network):
        self.weights = weights
        self.kernels = [torch.from_numpy(l.weights.transpose(0, 3, 1, 2).astype(np.float32)) for l in weights.layers]
        for layer in weights.layers:
            reach = layer.weights.astype(np.int64)
            span = 255 * np.maximum(reach.clip(0).sum((1, 2, 3)), -reach.clip(None, 0).sum((1, 2, 3)))
            assert span.max() < 1 << 24

    @torch.no_grad()
    def __call__(self, luma: np.ndarray, bucket: int) -> np.ndarray:
        radius = len(self.weights.layers)
        x = extended(luma, radius, self.weights.scale == 1)
        a = x
        for n, (layer, kernel) in enumerate(zip(self.weights.layers, self.kernels)):
            bias = torch.from_numpy(layer.bias[bucket].copy())[None, :, None, None]
            mult = torch.from_numpy(layer.mult[bucket].astype(np.int32))[None, :, None, None]
            t = (F.conv2d(a, kernel).to(torch.int32) + bias) >> layer.shift
            r = (t.clamp(-32768, 32767) * mult + 16384) >> 15
            a = r.clamp(0, 255).float() if n + 1 < radius else r
        v = (network.base(x, radius) * 64).to(torch.int32) + F.pixel_shuffle(a, 2)
        return ((v + 32) >> 6).clamp(0, 255)[0, 0].numpy().astype(np.uint8)


class FloatUpscaler:
    """The float network of a checkpoint."""

    def __init__(self, checkpoint: dict):
        self.net = network.Float(checkpoint["widths"])
        self.net.load_state_dict(checkpoint["float"])

    @torch.no_grad()
    def __call__(self, luma: np.ndarray, bucket: int) -> np.ndarray:
        radius = len(self.net.layers)
        x = extended(luma, radius, self.net.widths[0] == 4)
        y = network.base(x, radius) + F.pixel_shuffle(self.net(x, torch.tensor([bucket])), 2)
        return (y[0, 0] + 0.5).clamp(0, 255).numpy().astype(np.uint8)


if __name__ == "__main__":  # says whether it is what reference.py says, for the given .bnw files
    import sys

    import golden

    for path in sys.argv[1:]:
        weights = bnw.decode(open(path, "rb").read())
        for bucket in range(len(weights.edges)):
            luma = golden.picture(*((96, 62) if weights.scale == 1 else (97, 61)), bucket)
            assert (Upscaler(weights)(luma, bucket) == reference.upscale(weights, luma, bucket)).all(), (path, bucket)
        print(path, "equal")
