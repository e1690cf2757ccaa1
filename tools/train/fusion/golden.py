#!/usr/bin/env python3
"""Makes the fusion network's golden vectors: random networks, thirteen planes and the exact result.
Usage: golden.py OUT_DIR [NAME=NETWORK.bnf ...], or golden.py --neutral FILE.bnf for a network that changes nothing.

Each case is NAME-WIDTHxHEIGHT.fused: magic "BNV1", u32 width, u32 height, u32 CRC-32 of the .bnf file it belongs to,
u8 planes[13][height][width], u8 result[height][width], u32 CRC-32 of all before."""
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

import bnf
import reference


def random_network(a: int, b: int, seed: int) -> bnf.Network:
    """Weights that keep activations in their range, and logits that differ by some units."""
    rng, layers = np.random.default_rng(seed), {}
    for name, (width, channels, kernel) in zip(bnf.NAMES, bnf.shapes(a, b)):
        taps = kernel * kernel * width
        # Sums of products stay below 2^31, whatever the activations are.
        limit = int(0.9 * 2**31 / (taps * (4081 if name == "first" else 32768)))
        weights = rng.integers(-limit, limit + 1, (channels, kernel, kernel, width))
        spread = limit / 2 * np.sqrt(taps)
        gain = {"first": 2, "last": 1 / 16}.get(name, 0.7)
        shift = max(int(np.log2(spread / gain)), 0)
        bias = (rng.integers(-300, 301, channels) << shift) + ((1 << shift) >> 1)
        layers[name] = bnf.Layer(shift, weights.astype(np.int16), bias.astype(np.int32))
    return bnf.Network(a, b, layers)


def neutral_network(a: int, b: int) -> bnf.Network:
    """Chooses the finished picture everywhere."""
    layers = {
        name: bnf.Layer(0, np.zeros((channels, kernel, kernel, width), np.int16), np.zeros(channels, np.int32))
        for name, (width, channels, kernel) in zip(bnf.NAMES, bnf.shapes(a, b))}
    layers["last"].bias[48:52] = 32767
    return bnf.Network(a, b, layers)


def planes(width: int, height: int, seed: int) -> np.ndarray:
    """A picture with edges, noise and ends of the range, and thirteen versions of it: moved, noisy, and in one part equal."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    all_ = []
    for k in range(13):
        luma = 128 + 90 * np.sin((x + k % 3) / 5 + y / 9) + 60 * (((x // 7) + ((y + k // 5) // 5)) % 2)
        luma = luma + rng.normal(0, 3 + k / 2, (height, width)) + rng.integers(-9, 10)
        luma[: height // 3, : width // 3] = 200
        all_.append(luma)
    return np.clip(np.stack(all_), 0, 255).astype(np.uint8)


def write(folder: Path, name: str, network: bnf.Network, width: int, height: int) -> None:
    inputs = planes(width, height, width * 100 + height)
    result = reference.fuse(network, inputs)
    out = b"BNV1" + struct.pack("<3I", width, height, zlib.crc32(bnf.encode(network))) + inputs.tobytes() + result.tobytes()
    (folder / f"{name}-{width}x{height}.fused").write_bytes(out + struct.pack("<I", zlib.crc32(out)))


def main() -> None:
    if sys.argv[1] == "--neutral":
        Path(sys.argv[2]).write_bytes(bnf.encode(neutral_network(16, 32)))
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    networks = {"fusion-16-8": random_network(16, 8, 1), "fusion-8-8": random_network(8, 8, 2)}
    for name, network in networks.items():
        (folder / f"{name}.bnf").write_bytes(bnf.encode(network))
    for argument in sys.argv[2:]:
        name, path = argument.split("=")
        networks[name] = bnf.decode(Path(path).read_bytes())
    for name, network in networks.items():
        for width, height in ((48, 40), (37, 29), (1, 1), (3, 50), (65, 2)):
            write(folder, name, network, width, height)


if __name__ == "__main__":
    main()
