"""The .bnw weights file (README.md, "File format"): a plain value, its writer and its strict reader."""
from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

EDGES = (0, 18, 22, 25, 28, 32, 37, 255)
#: Of networks that restore: pictures of so fine a quantiser stay as they are.
RESTORING_EDGES = (12, *EDGES[1:])
BIAS_LIMIT = 1 << 24


@dataclass
class Layer:
    shift: int
    weights: np.ndarray  # s8 [out][3][3][in]
    bias: np.ndarray  # s32 [bucket][out]
    mult: np.ndarray  # s16 [bucket][out]


@dataclass
class Network:
    layers: list[Layer]
    edges: tuple[int, ...] = EDGES
    scale: int = 2

    def bucket(self, quantiser: float) -> int:
        q = int(np.floor(quantiser + 0.5))
        return next(i for i, edge in enumerate(self.edges) if edge >= q)

    def macs(self) -> int:
        """Multiplications per input pixel."""
        return sum(layer.weights.size for layer in self.layers) // (4 if self.scale == 1 else 1)

    def check(self) -> None:
        buckets = len(self.edges)
        if not 2 <= len(self.layers) <= 16 or self.scale not in (1, 2):
            raise ValueError("2 to 16 layers and scale 1 or 2 are supported")
        if buckets < 1 or self.edges[-1] != 255 or any(a >= b for a, b in zip(self.edges, self.edges[1:])):
            raise ValueError("bucket edges must increase strictly and end in 255")
        width = 4 if self.scale == 1 else 1
        for n, layer in enumerate(self.layers):
            out = layer.weights.shape[0]
            if layer.weights.shape != (out, 3, 3, width) or not 1 <= out <= 64:
                raise ValueError(f"layer {n}: weights have the shape {layer.weights.shape}")
            if layer.weights.min() < -64 or layer.weights.max() > 63:
                raise ValueError(f"layer {n}: weights outside -64...63 would saturate vpmaddubsw")
            if layer.bias.shape != (buckets, out) or np.abs(layer.bias.astype(np.int64)).max() > BIAS_LIMIT:
                raise ValueError(f"layer {n}: biases of a wrong shape or beyond 2^24")
            if layer.mult.shape != (buckets, out) or layer.mult.min() < 1 or layer.mult.max() > 32767:
                raise ValueError(f"layer {n}: multipliers of a wrong shape or outside 1...32767")
            if not 0 <= layer.shift <= 15:
                raise ValueError(f"layer {n}: shift {layer.shift}")
            width = out
        if width != 4:
            raise ValueError("the last layer must give four channels")


def encode(network: Network) -> bytes:
    network.check()
    out = bytearray(b"BNW1")
    out += struct.pack("<4I", 1, network.scale, len(network.layers), len(network.edges)) + bytes(network.edges)
    for layer in network.layers:
        channels, _, _, width = layer.weights.shape
        out += struct.pack("<4I", width, channels, 3, layer.shift)
        out += layer.weights.astype("<i1").tobytes() + layer.bias.astype("<i4").tobytes()
        out += layer.mult.astype("<i2").tobytes()
    return bytes(out + struct.pack("<I", zlib.crc32(out)))


def decode(data: bytes) -> Network:
    if len(data) < 24 or data[:4] != b"BNW1":
        raise ValueError("not a BNW1 file")
    if struct.unpack("<I", data[-4:])[0] != zlib.crc32(data[:-4]):
        raise ValueError("the checksum does not match: the file is damaged or cut short")
    version, scale, count, buckets = struct.unpack_from("<4I", data, 4)
    if version != 1:
        raise ValueError(f"version {version} is not known")
    position = 20

    def read(kind: str, shape: tuple[int, ...]) -> np.ndarray:
        nonlocal position
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        if position + size > len(data) - 4:
            raise ValueError("the file ends inside a layer")
        array = np.frombuffer(data, kind, int(np.prod(shape)), position).reshape(shape)
        position += size
        return array

    edges = tuple(int(e) for e in read("<u1", (buckets,)))
    layers = []
    for _ in range(count):
        width, channels, kernel, shift = (int(v) for v in read("<u4", (4,)))
        if kernel != 3 or not 1 <= channels <= 64 or not 1 <= width <= 64:
            raise ValueError("a layer of an unknown shape")
        weights = read("<i1", (channels, 3, 3, width))
        layers.append(Layer(shift, weights, read("<i4", (buckets, channels)), read("<i2", (buckets, channels))))
    if position != len(data) - 4:
        raise ValueError("bytes after the last layer")
    network = Network(layers, edges, scale)
    network.check()
    return network
