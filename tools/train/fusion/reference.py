#!/usr/bin/env python3
"""The fusion network's arithmetic (README.md, "Fusion") in numpy. As a program: the reference of one picture.

    reference.py NETWORK.bnf WIDTH HEIGHT < 13 planes > 1 plane"""
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import bnf

SCALE = np.float32(1.44269504) / np.float32(256)
POWERS = [np.float32(v) for v in (0.00967, 0.0555041, 0.240227, 0.693147, 1)]


def clamp16(v: np.ndarray) -> np.ndarray:
    return np.clip(v, -32768, 32767)


def relu(v: np.ndarray) -> np.ndarray:
    return np.maximum(v, 0)


def conv(value: np.ndarray, layer: bnf.Layer, stride: int = 1) -> np.ndarray:
    """[height][width][in] to [height / stride][width / stride][out]; zeros around."""
    channels, kernel, _, _ = layer.weights.shape
    height, width, _ = value.shape
    margin = kernel // 2
    padded = np.pad(value.astype(np.int64), ((margin, margin), (margin, margin), (0, 0)))
    acc = np.zeros((height // stride, width // stride, channels), np.int64) + layer.bias
    for ky in range(kernel):
        for kx in range(kernel):
            part = padded[ky:ky + height:stride, kx:kx + width:stride][:height // stride, :width // stride]
            acc += part @ layer.weights[:, ky, kx].astype(np.int64).T
    return clamp16(acc >> layer.shift)


def squares(planes: np.ndarray) -> np.ndarray:
    """[k][2h][2w] to [h][w][4k]: 2x2 samples become channels."""
    count, height, width = planes.shape
    return planes.reshape(count, height // 2, 2, width // 2, 2).transpose(1, 3, 0, 2, 4).reshape(height // 2, width // 2, -1)


def samples(value: np.ndarray) -> np.ndarray:
    """The inverse of `squares`."""
    height, width, channels = value.shape
    return value.reshape(height, width, channels // 4, 2, 2).transpose(2, 0, 3, 1, 4).reshape(channels // 4, 2 * height, 2 * width)


def features(planes: np.ndarray) -> np.ndarray:
    """Thirteen padded planes, the finished picture last."""
    made = planes[12].astype(np.int64)
    height, width = made.shape
    around = np.pad(made, 3, mode="edge")
    total = sum(around[j:j + height, i:i + width] for j in range(7) for i in range(7))
    detail = ((49 * made - total) * 21400 + 32768) >> 16
    return squares(np.concatenate([16 * (planes[:12].astype(np.int64) - made), detail[None]]))


def choices(network: bnf.Network, planes: np.ndarray) -> np.ndarray:
    """What the last layer gives: [14][height][width]."""
    n = network.layers
    f = relu(conv(features(planes), n["first"]))
    q = relu(conv(relu(conv(f, n["down"], 2)), n["inner0"]))
    for name in ("inner1", "inner2"):
        q = relu(clamp16(conv(q, n[name]) + q))
    up = samples(conv(q, n["up"]))
    f = relu(clamp16(f + up.transpose(1, 2, 0)))
    f = relu(conv(f, n["mid0"]))
    f = relu(clamp16(conv(f, n["mid1"]) + f))
    return samples(conv(f, n["last"]))


def mix(o: np.ndarray, planes: np.ndarray) -> np.ndarray:
    made = planes[12].astype(np.int64)
    most = o[:13].max(0)
    total, n = None, None
    for k in range(13):
        t = np.maximum((o[k] - most).astype(np.float32) * SCALE, np.float32(-30))
        i = np.floor(t)
        x = t - i
        e = POWERS[0]
        for power in POWERS[1:]:
            e = power + x * e
        e = np.ldexp(np.float32(1), i.astype(np.int32)).astype(np.float32) * e
        total = e if total is None else total + e
        if k < 12:
            term = e * (planes[k].astype(np.int64) - made).astype(np.float32)
            n = term if n is None else n + term
    v = made.astype(np.float32) + n / total + o[13].astype(np.float32) * np.float32(1 / 64)
    assert v.dtype == np.float32
    return np.clip(np.floor(v + np.float32(0.5)), planes.min(0), planes.max(0)).astype(np.uint8)


def fuse(network: bnf.Network, planes: np.ndarray) -> np.ndarray:
    """[13][height][width] u8, the finished picture last, to the result."""
    _, height, width = planes.shape
    padded = np.pad(planes, ((0, 0), (0, -height % 4), (0, -width % 4)), mode="edge")
    return mix(choices(network, padded), padded)[:height, :width]


def main() -> None:
    network = bnf.decode(Path(sys.argv[1]).read_bytes())
    width, height = int(sys.argv[2]), int(sys.argv[3])
    planes = np.frombuffer(sys.stdin.buffer.read(), np.uint8).reshape(13, height, width)
    sys.stdout.buffer.write(fuse(network, planes).tobytes())


if __name__ == "__main__":
    main()
