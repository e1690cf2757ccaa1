"""The .bnf file of the fusion network (README.md, "Fusion"): a plain value, its writer and its strict reader."""
from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

FEATURES, CHOICES = 52, 56
NAMES = ("first", "down", "inner0", "inner1", "inner2", "up", "mid0", "mid1", "last")


@dataclass
class Layer:
    shift: int
    weights: np.ndarray  # s16 [out][ky][kx][in]
    bias: np.ndarray  # s32 [out]


def shapes(a: int, b: int) -> list[tuple[int, int, int]]:
    """In, out and kernel of each layer."""
    return [(FEATURES, a, 3), (a, b, 3), (b, b, 3), (b, b, 3), (b, b, 3), (b, 4 * a, 1), (a, a, 3), (a, a, 3), (a, CHOICES, 3)]


@dataclass
class Network:
    a: int
    b: int
    layers: dict[str, Layer]

    def check(self) -> None:
        if any(n % 8 or not 8 <= n <= 64 for n in (self.a, self.b)):
            raise ValueError(f"{self.a} and {self.b} channels: both are multiples of 8, 8 to 64")
        for name, (width, channels, kernel) in zip(NAMES, shapes(self.a, self.b), strict=True):
            layer = self.layers[name]
            if layer.weights.shape != (channels, kernel, kernel, width) or layer.weights.dtype != np.int16:
                raise ValueError(f"{name}: weights of {layer.weights.dtype} have the shape {layer.weights.shape}")
            if layer.bias.shape != (channels,) or layer.bias.dtype != np.int32 or not 0 <= layer.shift <= 30:
                raise ValueError(f"{name}: biases of a wrong shape, or shift {layer.shift}")
            most = 4081 if name == "first" else 32768
            sums = np.abs(layer.weights.astype(np.int64)).reshape(channels, -1).sum(1) * most
            if (sums + np.abs(layer.bias.astype(np.int64))).max() >= 1 << 31:
                raise ValueError(f"{name}: sums could leave 32 bits")


def encode(network: Network) -> bytes:
    network.check()
    out = bytearray(b"BNF1") + struct.pack("<3I", 1, network.a, network.b)
    for name in NAMES:
        layer = network.layers[name]
        channels, kernel, _, width = layer.weights.shape
        out += struct.pack("<4I", width, channels, kernel, layer.shift)
        out += layer.weights.astype("<i2").tobytes() + layer.bias.astype("<i4").tobytes()
    return bytes(out + struct.pack("<I", zlib.crc32(out)))


def decode(data: bytes) -> Network:
    if len(data) < 20 or data[:4] != b"BNF1":
        raise ValueError("not a BNF1 file")
    if struct.unpack("<I", data[-4:])[0] != zlib.crc32(data[:-4]):
        raise ValueError("the checksum does not match: the file is damaged or cut short")
    version, a, b = struct.unpack_from("<3I", data, 4)
    if version != 1:
        raise ValueError(f"version {version} is not known")
    position, layers = 16, {}
    for name, (width, channels, kernel) in zip(NAMES, shapes(a, b), strict=True):
        count = channels * kernel * kernel * width
        if position + 16 + 2 * count + 4 * channels > len(data) - 4:
            raise ValueError(f"the file ends inside {name}")
        *shape, shift = struct.unpack_from("<4I", data, position)
        if shape != [width, channels, kernel]:
            raise ValueError(f"{name} has the shape {shape}")
        weights = np.frombuffer(data, "<i2", count, position + 16).reshape(channels, kernel, kernel, width)
        bias = np.frombuffer(data, "<i4", channels, position + 16 + 2 * count)
        layers[name] = Layer(shift, weights.astype(np.int16), bias.astype(np.int32))
        position += 16 + 2 * count + 4 * channels
    if position != len(data) - 4:
        raise ValueError("bytes after the last layer")
    network = Network(a, b, layers)
    network.check()
    return network
