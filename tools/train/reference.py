"""README.md's "Arithmetic" in numpy: slow, plain, and the judge of every other implementation."""
from __future__ import annotations

import numpy as np

from bnw import Network


def extend(luma: np.ndarray, radius: int) -> np.ndarray:
    return np.pad(luma, radius, mode="edge")


def base64ths(tile: np.ndarray, radius: int) -> np.ndarray:
    """The Catmull-Rom base of the tile's inside, in 1/64 of a grey level; the tile has a border of `radius` >= 2."""
    x = tile[radius - 2 : tile.shape[0] - radius + 2, radius - 2 : tile.shape[1] - radius + 2].astype(np.int32)

    def twice(a: np.ndarray, rounding: int, shift: int) -> np.ndarray:  # along the last axis, which has 2 to spare
        m2, m1, c, p1, p2 = (a[..., k : a.shape[-1] - 4 + k] for k in range(5))
        even = -3 * m2 + 29 * m1 + 111 * c - 9 * p1
        odd = -9 * m1 + 111 * c + 29 * p1 - 3 * p2
        return ((np.stack([even, odd], -1) + rounding) >> shift).reshape(*c.shape[:-1], -1)

    h = twice(x, 4, 3)
    return twice(h.T, 16, 5).T


def phases(picture: np.ndarray) -> np.ndarray:
    """The four phases of a 2x2 grid, [y][x][2*dy+dx]."""
    h, w = picture.shape
    return picture.reshape(h // 2, 2, w // 2, 2).transpose(0, 2, 1, 3).reshape(h // 2, w // 2, 4)


def layers(network: Network, tile: np.ndarray, bucket: int) -> list[np.ndarray]:
    """Each layer's output [y][x][channel]: u8 activations, and the last one's residual in 1/64 of a grey level."""
    activation = phases(tile) if network.scale == 1 else tile[..., None]
    outputs, activation = [], activation.astype(np.float64)  # which holds these integers exactly (and is BLAS)
    for n, layer in enumerate(network.layers):
        h, w = activation.shape[0] - 2, activation.shape[1] - 2
        acc = np.zeros((h, w, layer.weights.shape[0]))
        for ky in range(3):
            for kx in range(3):
                acc += activation[ky : ky + h, kx : kx + w] @ layer.weights[:, ky, kx].T.astype(np.float64)
        acc = acc.astype(np.int32) + layer.bias[bucket]
        t = np.clip(acc >> layer.shift, -32768, 32767)
        r = (t * layer.mult[bucket].astype(np.int32) + 16384) >> 15
        if n + 1 == len(network.layers):
            outputs.append(r.astype(np.int16))
        else:
            outputs.append(np.clip(r, 0, 255).astype(np.uint8))
            activation = outputs[-1].astype(np.float64)
    return outputs


def shuffle(planes: np.ndarray) -> np.ndarray:
    h, w, _ = planes.shape
    return planes.reshape(h, w, 2, 2).transpose(0, 2, 1, 3).reshape(2 * h, 2 * w)


def upscale(network: Network, luma: np.ndarray, bucket: int) -> np.ndarray:
    """A whole picture, u8 [h][w] to u8 [2h][2w]; with scale 1 to u8 [h][w] of even sides."""
    radius = len(network.layers)
    tile = extend(luma, radius * (2 if network.scale == 1 else 1))
    residual = shuffle(layers(network, tile, bucket)[-1]).astype(np.int32)
    under = luma.astype(np.int32) << 6 if network.scale == 1 else base64ths(tile, radius)
    return np.clip((under + residual + 32) >> 6, 0, 255).astype(np.uint8)
