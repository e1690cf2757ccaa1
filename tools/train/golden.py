#!/usr/bin/env python3
"""Makes the golden vectors: for random weights of the shapes of `neural-s` and `neural-m`, of a short
network with 32 channels, of one that restores, and, where given, the shipped ones, an input picture, a bucket and the exact output. Usage: golden.py OUT_DIR [NAME=WEIGHTS.bnw ...]

Each case is NAME-SIZE-BUCKET.golden, or .shipped of the weights that are given, little endian: magic "BNG1", u32 width,
u32 height, u32 bucket, u32 CRC-32 of the .bnw
file it belongs to, u8 input[height][width], s16 residual[4][height][width] (the last layer, channel by channel),
u8 output[2*height][2*width], u32 CRC-32 of all before. For networks that restore the residual has half of the sides and the
output those of the input, which are even. The random networks are written beside them as NAME.bnw."""
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

import bnw
import reference


def random_network(widths: list[int], seed: int) -> bnw.Network:
    """Weights over the whole allowed range, with multipliers that use the activations' range and clip some at both ends."""
    rng, layers = np.random.default_rng(seed), []
    buckets = len(bnw.EDGES)
    for n, (i, o) in enumerate(zip(widths, widths[1:])):
        last, shift = n == len(widths) - 2, [4, 0, 5, 2, 6, 3][n % 6]
        weights = rng.integers(-64, 64, (o, 3, 3, i)).astype(np.int8)
        centre = -weights.reshape(o, -1).astype(np.int64).sum(1) * 100
        bias = (centre + rng.integers(-40000, 40000, (buckets, o))).astype(np.int32)
        spread = 37 * 70 * np.sqrt(9 * i)  # about one standard deviation of acc
        target = 700 if last else 110
        mult = np.clip(32768 * target / (spread / 2**shift) * rng.uniform(0.5, 2, (buckets, o)), 1, 32767).astype(np.int16)
        layers.append(bnw.Layer(shift, weights, bias, mult))
    return bnw.Network(layers, scale=1) if widths[0] == 4 else bnw.Network(layers)


def picture(width: int, height: int, seed: int) -> np.ndarray:
    """Edges, gradients, noise and flat ends of the range, so that every clamp is met."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    luma = 128 + 90 * np.sin(x / 5 + y / 9) + 60 * (((x // 7) + (y // 5)) % 2) + rng.normal(0, 12, (height, width))
    luma[: height // 4, : width // 3] = 0
    luma[-(height // 4 or 1) :, -(width // 3 or 1) :] = 255
    luma[height // 2 :, : width // 4] = rng.integers(0, 256, (height - height // 2, width // 4))
    return np.clip(luma, 0, 255).astype(np.uint8)


def write(folder: Path, name: str, network: bnw.Network, width: int, height: int, bucket: int, kind: str) -> None:
    luma = picture(width, height, bucket * 1000 + width)
    tile = reference.extend(luma, len(network.layers) * (2 if network.scale == 1 else 1))
    residual = reference.layers(network, tile, bucket)[-1].transpose(2, 0, 1)
    out = struct.pack("<4s4I", b"BNG1", width, height, bucket, zlib.crc32(bnw.encode(network)))
    out += luma.tobytes() + residual.astype("<i2").tobytes() + reference.upscale(network, luma, bucket).tobytes()
    (folder / f"{name}-{width}x{height}-{bucket}.{kind}").write_bytes(out + struct.pack("<I", zlib.crc32(out)))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    networks = {
        "random-s": random_network([1, 8, 8, 8, 8, 4], 1),
        "random-m": random_network([1, 16, 16, 16, 16, 16, 16, 4], 2),
        "random-quality": random_network([1, *[32] * 4, 4], 3),
        "random-restore": random_network([4, 16, 16, 32, 4], 4),
    }
    for name, network in networks.items():
        (folder / f"{name}.bnw").write_bytes(bnw.encode(network))
    made = set(networks)
    for argument in sys.argv[2:]:
        name, path = argument.split("=")
        networks[name] = bnw.decode(Path(path).read_bytes())
    for name, network in networks.items():
        for width, height, bucket in ((48, 40, 0), (37, 29, 3), (1, 1, 7), (3, 64, 5), (65, 2, 1)):
            if network.scale == 1:
                width, height = width + width % 2, height + height % 2
            write(folder, name, network, width, height, bucket, "golden" if name in made else "shipped")


if __name__ == "__main__":
    main()
