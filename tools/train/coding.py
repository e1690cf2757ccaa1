"""H.264 as a relay meets it: x264 in front, libavcodec's decoder with the quantisers that it exports behind."""
from __future__ import annotations

from fractions import Fraction

import av
import numpy as np


def plane(frame: av.VideoFrame, index: int = 0) -> np.ndarray:
    """One plane as it was decoded: no conversion, above all no change of range."""
    p = frame.planes[index]
    return np.frombuffer(p, np.uint8).reshape(-1, p.line_size)[: p.height, : p.width].copy()


def encode(lumas: list[np.ndarray], crf: float, preset: str, zerolatency: bool, chromas=None, rate: float = 0) -> bytes:
    """An H.264 elementary stream. Without `chromas` (u, v) per frame the picture is grey. With a `rate`, in kbit/s, the
    stream has that in place of the quality `crf`, and is one picture group, as calls are."""
    h, w = lumas[0].shape
    codec = av.CodecContext.create("libx264", "w")
    codec.width, codec.height, codec.pix_fmt = w, h, "yuv420p"
    if not chromas:
        codec.color_range = 2  # full: then no decoder stretches what is decoded
    codec.framerate, codec.time_base, codec.thread_count = Fraction(30), Fraction(1, 30), 1
    quality = {"crf": str(crf)}
    if rate:
        quality = {"b": f"{rate:.1f}k", "maxrate": f"{rate:.1f}k", "bufsize": f"{rate:.1f}k", "g": "9999", "sc_threshold": "0"}
    codec.options = quality | {"preset": preset, "threads": "1"} | ({"tune": "zerolatency"} if zerolatency else {})
    out = bytearray()
    for n, luma in enumerate(lumas):
        frame = av.VideoFrame(w, h, "yuv420p")
        grey = np.full(((h + 1) // 2, (w + 1) // 2), 128, np.uint8)
        for p, source in zip(frame.planes, (luma, *(chromas[n] if chromas else (grey, grey)))):
            padded = np.zeros((p.height, p.line_size), np.uint8)
            padded[:, : p.width] = source
            p.update(padded.tobytes())
        frame.pts = n
        for packet in codec.encode(frame):
            out += bytes(packet)
    for packet in codec.encode(None):
        out += bytes(packet)
    return bytes(out)


def decode(stream: bytes) -> tuple[list[np.ndarray], list[float]]:
    """Every frame's luma, and the mean over its macroblocks of the quantiser that the decoder exports."""
    codec = av.CodecContext.create("h264", "r")
    codec.options, codec.thread_count = {"export_side_data": "venc_params"}, 1
    frames = [f for packet in codec.parse(stream) + codec.parse(b"") for f in codec.decode(packet)] + codec.decode(None)
    return [plane(f) for f in frames], [float(f.side_data.get("VIDEO_ENC_PARAMS").qp_map().mean()) for f in frames]
