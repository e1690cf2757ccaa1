"""Short moving scenes out of still photographs, and their small versions. `prepare` codes the small versions and `fit`
makes the same large ones again from the same description, so that only photographs and coded streams need to travel."""
from __future__ import annotations

import cv2
import numpy as np

WIDTH, HEIGHT = 640, 352  # the large picture
LENGTH = 12  # frames of a coded scene
USED = (0, 3, 6, 9, 11)  # those that training uses
CALL_LENGTH = 30
CALL_USED = (2, 11, 18, 24, 29)
CALL_RATES = (150, 300, 500)  # kbit/s at 640x360 and 30 frames/s, by which networks for calls are judged


def describe(rng: np.random.Generator, index: int, size: tuple[int, int], coded: bool) -> dict:
    """A crop that pans and zooms over photograph `index` of `size` (height, width), and how it is degraded."""
    h, w = size
    largest = min(w / WIDTH, h / HEIGHT)
    zoom = float(min(largest, rng.choice([1.0, rng.uniform(1.0, 1.5), rng.uniform(1.5, 2.5)], p=[0.5, 0.3, 0.2])))
    still = rng.random() < 0.2
    scene = {
        "photograph": index,
        "zoom": zoom,
        "zoomStep": 0.0 if still or zoom == 1.0 or rng.random() < 0.6 else float(rng.normal(0, 0.006)),
        "x": float(rng.uniform(0, max(0.0, w - WIDTH * zoom))),
        "y": float(rng.uniform(0, max(0.0, h - HEIGHT * zoom))),
        "dx": 0 if still else int(np.round(rng.normal(0, 3.5))),
        "dy": 0 if still else int(np.round(rng.normal(0, 2))),
        "blur": float(rng.uniform(0.4, 1.3)) if rng.random() < 0.25 else 0.0,
        "noise": float(rng.uniform(0.7, 3.0)) if rng.random() < 0.15 else 0.0,
        "down": "area" if rng.random() < 0.75 else "bicubic",
        "fullRange": bool(rng.random() < 0.15),
        "seed": int(rng.integers(1 << 31)),
    }
    if coded:
        scene["crf"] = float(np.round(rng.uniform(13, 41), 1))
        scene["preset"] = str(rng.choice(["ultrafast", "superfast", "veryfast", "medium"], p=[0.3, 0.15, 0.35, 0.2]))
        scene["zerolatency"] = bool(rng.random() < 0.7)
    return scene


def call_rate(full: float, size: tuple[int, int]) -> float:
    """The rate of a coded picture half as large as `size` (height, width) that has as many bits a sample as 640x360 at `full`."""
    return full * size[0] * size[1] / (4 * 640 * 360)


def describe_call(rng: np.random.Generator, index: int, size: tuple[int, int]) -> dict:
    """As `describe`, for a call: less motion, and a quality where that is set and no rate."""
    scene = describe(rng, index, size, coded=False)
    return scene | {"dx": int(round(scene["dx"] * 0.6)), "dy": int(round(scene["dy"] * 0.5)), "crf": float(np.round(rng.uniform(16, 30), 1))}


def large(photograph: np.ndarray, scene: dict, t: int) -> np.ndarray:
    """Frame t, u8 [HEIGHT][WIDTH]. The blur and the noise are the camera's: the network is not asked to undo them."""
    h, w = photograph.shape
    zoom = min(max(1.0, scene["zoom"] + t * scene["zoomStep"]), w / WIDTH, h / HEIGHT)
    cw, ch = WIDTH * zoom, HEIGHT * zoom
    # Bounce off the edges, so that a pan never stops half-way through a scene.
    fold = lambda v, end: abs((v + end) % (2 * end) - end) if end > 0 else 0.0
    x, y = fold(scene["x"] + t * scene["dx"], w - cw), fold(scene["y"] + t * scene["dy"], h - ch)
    x, y = int(x), int(y)
    crop = photograph[y : y + int(ch + 0.5), x : x + int(cw + 0.5)]
    if crop.shape != (HEIGHT, WIDTH):
        crop = cv2.resize(crop, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
    picture = crop.astype(np.float32)
    if scene["blur"]:
        picture = cv2.GaussianBlur(picture, (0, 0), scene["blur"])
    if not scene["fullRange"]:
        picture = 16 + picture * (219 / 255)
    if scene["noise"]:
        rng = np.random.default_rng(scene["seed"] + t)
        picture += rng.standard_normal(picture.shape, dtype=np.float32) * scene["noise"]
    return np.clip(picture + 0.5, 0, 255).astype(np.uint8)


def small(picture: np.ndarray, kind: str) -> np.ndarray:
    """Half the size. Area: the rounded mean of each 2x2 block; bicubic: OpenCV's four taps each way."""
    if kind == "area":
        h, w = picture.shape
        return ((picture.reshape(h // 2, 2, w // 2, 2).astype(np.uint16).sum((1, 3)) + 2) >> 2).astype(np.uint8)
    return cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_CUBIC)
