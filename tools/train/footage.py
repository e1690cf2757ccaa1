"""Real video: clips of footage.json, halved and coded as a call's coder does or at any quality, by the program ffmpeg; and
scenes out of photographs, coded in the same way. Only short copies of the clips travel to the training machine. The coding is done there."""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np

import scene

LIST = Path(__file__).resolve().parent / "footage.json"
PHOTOGRAPHS = LIST.with_name("photographs.json")
LENGTH = 60  # frames of a coded stretch
RATES = (100.0, 650.0)  # kbit/s at 640x360 and 30 frames/s
SHARP = 0.05  # bits a sample from which a clip is sharp enough for its full size


def program() -> str:
    return os.environ.get("FFMPEG") or shutil.which("ffmpeg") or sys.exit("ffmpeg is not on the PATH, and FFMPEG does not name it")


def fetched(listed: dict, folder: Path) -> list[dict]:
    """The files of a list with `source`, the file in the folder, and `side`. Files that are missing are downloaded."""
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    for side in ("train", "validation"):
        for file in listed.get(side, []):
            path = folder / (file["sha256"] + Path(file["path"]).suffix.lower())
            if not path.exists():
                address = f"https://raw.githubusercontent.com/{file['repository']}/{file['commit']}/{urllib.parse.quote(file['path'])}"
                with urllib.request.urlopen(address) as answer:
                    data = answer.read()
                if hashlib.sha256(data).hexdigest() != file["sha256"]:
                    sys.exit(f"{address} is not the file that was trained on")
                path.write_bytes(data)
            files.append(file | {"source": path, "side": side})
    return files


def fetch_footage(cache: Path) -> list[dict]:
    return fetched(json.loads(LIST.read_text()), cache / "footage")


def fetch_photographs(cache: Path) -> list[dict]:
    return fetched(json.loads(PHOTOGRAPHS.read_text()), cache / "photographs")


def cut(clip: dict, folder: Path) -> dict:
    """Writes the beginning of the clip to the folder, as it was coded unless the list says otherwise."""
    import av  # not there where `fit` runs

    with av.open(str(clip["source"])) as container:
        video = container.streams.video[0]
        size, rate = (video.codec_context.width, video.codec_context.height), float(video.average_rate or video.base_rate)
    step, target = clip.get("step", 1), folder / (clip["sha256"][:12] + ".mkv")
    run = [program(), "-v", "error", "-y", "-noautorotate", "-i", clip["source"], "-map", "0:v:0", "-an"]
    if "made" in clip:
        *size, crf = clip["made"]
        filters = f"select=not(mod(n\\,{step})),scale={size[0]}:{size[1]}:flags=area,format=yuv420p"
        frames, how = clip["frames"] // step, ["-vf", filters, "-vsync", "passthrough", "-c:v", "libx264", "-crf", str(crf)]
        run += ["-frames:v", str(frames), *how]
        step = 1
    else:
        frames = clip["frames"]
        run += ["-c", "copy", "-t", f"{(frames + 1) / rate:.3f}"]
    subprocess.run([*run, target], check=True)
    bits = target.stat().st_size * 8 / (size[0] * size[1] * frames)
    return {"name": clip.get("name", target.stem), "file": target.name, "side": clip["side"], "width": size[0], "height": size[1], "frames": frames // step,
            "step": step, "sharp": "made" in clip or bits >= SHARP}


def describe(clip: dict, rng: np.random.Generator) -> list[dict]:
    """Stretches of a clip, each at its size and at a smaller one: where they begin, how large they are, how they are coded."""
    w, h = clip["width"], clip["height"]
    out = []
    for start in range(0, max(1, clip["frames"] - 40), LENGTH):
        length = min(LENGTH, clip["frames"] - start)
        if length < 24:
            break
        most = min(1.0 if clip["sharp"] else 0.8, 1280 / max(w, h))
        least = max(200 / min(w, h), 0.4 * most)
        for factor in [most] + ([float(rng.uniform(least, 0.8 * most))] if 0.8 * most > least else []):
            size = tuple(int(round(v * factor / 4)) * 4 for v in (h, w))
            if min(size) < 150:
                continue
            rates = np.exp(rng.uniform(*np.log(RATES), 4)).tolist()
            coded = [{"rate": scene.call_rate(full, size)} for full in rates]
            if rng.random() < 0.5:
                coded[-1] = {"crf": float(rng.uniform(16, 30))}
            used = sorted({2, 6, 12, *np.linspace(18, length - 1, 5).round().astype(int).tolist()})
            flags = str(rng.choice(["area", "bicubic", "lanczos"], p=[0.5, 0.3, 0.2])) if factor < 0.95 else "area"
            out.append({"file": clip["file"], "step": clip["step"], "start": start, "length": length, "size": size, "coded": coded, "used": used,
                        "flags": flags, "down": "area" if rng.random() < 0.8 else "bicubic", "seed": int(rng.integers(1 << 31))})
    return out


def at_any_quality(s: dict, rng: np.random.Generator) -> dict:
    """The same stretch, coded three times by a quality that is set, as `prepare` codes scenes."""
    presets = rng.choice(["ultrafast", "veryfast", "medium"], 3, p=[0.3, 0.5, 0.2]).tolist()
    return s | {"coded": [{"crf": float(np.round(rng.uniform(13, 41), 1)), "preset": preset} for preset in presets]}


def whole(s: dict, rng: np.random.Generator) -> dict:
    """The same stretch, to be coded at 0.55 to 1 of its size: twice by a quality and once at a rate."""
    factor = rng.uniform(0.55, 1.0)
    h, w = (max(144, int(v * factor) // 4 * 4) for v in s["size"])
    presets = rng.choice(["ultrafast", "veryfast", "medium"], 3, p=[0.2, 0.6, 0.2]).tolist()
    qualities = [{"crf": float(np.round(v, 1))} for v in rng.uniform(15, 41, 2)]
    rate = {"rate": float(np.exp(rng.uniform(np.log(500), np.log(5000)))) * h * w / (1280 * 720)}
    return s | {"size": (h, w), "coded": [how | {"preset": preset} for how, preset in zip([*qualities, rate], presets)]}


def lumas(source: list[str], size: tuple[int, int], count: int, filters: str = "null", kind: str = "yuv420p", data: bytes | None = None) -> np.ndarray:
    """Pictures [n][height][width] of what ffmpeg reads. Of a full range only with a `kind` that says so."""
    h, w = size
    raw = subprocess.run([program(), "-v", "error", "-threads", "1", "-noautorotate", *source, "-an", "-vf", filters, "-frames:v", str(count), "-pix_fmt", kind,
                          "-vsync", "passthrough", "-f", "rawvideo", "-"], input=data, stdout=subprocess.PIPE, check=True).stdout
    frame = w * h + 2 * ((w + 1) // 2) * ((h + 1) // 2)
    return np.frombuffer(raw, np.uint8).reshape(-1, frame)[:, : w * h].reshape(-1, h, w)


def frames(folder: Path, s: dict) -> np.ndarray:
    first, (h, w) = s["start"] * s["step"], s["size"]
    chosen = f"select='gte(n\\,{first})*not(mod(n-{first}\\,{s['step']}))',scale={w}:{h}:flags={s['flags']}"
    return lumas(["-i", str(folder / s["file"])], s["size"], s["length"], chosen)


def halved(larges: np.ndarray, down: str) -> np.ndarray:
    return np.stack([scene.small(p, down) for p in larges])


def code(smalls: np.ndarray, rate: float = 0, crf: float = 0, preset: str = "veryfast") -> tuple[np.ndarray, list[float]]:
    """What a decoder makes of it, and each frame's mean quantiser, as x264 tells it."""
    n, h, w = smalls.shape
    quality = ["-b:v", f"{rate:.2f}k", "-maxrate", f"{rate:.2f}k", "-bufsize", f"{rate:.2f}k"] if rate else ["-crf", f"{crf:.1f}"]
    run = subprocess.run([program(), "-v", "debug", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{w}x{h}", "-r", "30", "-i", "-",
                          "-vf", "scale=in_range=full:out_range=full", "-pix_fmt", "yuvj420p", "-threads", "1", "-c:v", "libx264", "-preset", preset,
                          "-tune", "zerolatency", *quality, "-g", "9999", "-sc_threshold", "0", "-f", "h264", "-"],
                         input=smalls.tobytes(), capture_output=True, check=True)
    quantisers = [float(v) for v in re.findall(r"frame=\s*\d+ QP=([\d.]+)", run.stderr.decode())]
    out = lumas(["-f", "h264", "-i", "-"], (h, w), n, kind="yuvj420p", data=run.stdout)
    if not len(out) == len(quantisers) == n:
        raise ValueError(f"{n} pictures were coded, {len(out)} came back and {len(quantisers)} quantisers were told")
    return out, quantisers


def smoothed(quantisers: list[float], t: int) -> float:
    """As a relay may tell it: the mean of the last eight."""
    return max(1.0, float(np.mean(quantisers[max(0, t - 7) : t + 1])))


Made = list[tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, float]]]]


def stretch(folder: Path, s: dict) -> Made:
    """Of each used frame: large, small clean, and each coded small with the quantiser to tell the network."""
    larges = frames(folder, s)
    smalls, rng = halved(larges, s["down"]), np.random.default_rng(s["seed"])
    coded = [code(smalls, **how) for how in s["coded"]]
    told = lambda q, t: max(1.0, q[t]) if rng.random() < 0.3 else smoothed(q, t)
    return [(larges[t].copy(), smalls[t].copy(), [(c[t].copy(), told(q, t)) for c, q in coded]) for t in s["used"] if t < len(larges)]


def photograph(picture: np.ndarray, index: int, seed: int) -> Made:
    """The same of a scene out of a photograph, coded twice."""
    rng = np.random.default_rng(seed)
    s = scene.describe_call(rng, index, picture.shape)
    larges = np.stack([scene.large(picture, s, t) for t in range(scene.CALL_LENGTH)])
    smalls = halved(larges, s["down"])
    hows = [{"rate": scene.call_rate(full, (scene.HEIGHT, scene.WIDTH))} for full in np.exp(rng.uniform(*np.log(RATES), 2)).tolist()]
    if rng.random() < 0.3:
        hows[1] = {"crf": s["crf"]}
    coded = [code(smalls, **how) for how in hows]
    return [(larges[t], smalls[t], [(c[t].copy(), smoothed(q, t)) for c, q in coded]) for t in scene.CALL_USED]


def scene_at_any_quality(picture: np.ndarray, index: int, seed: int, coded: bool) -> Made:
    """The same of a scene out of a photograph, coded twice by a quality that is set; or one uncoded frame of it."""
    rng = np.random.default_rng(seed)
    s = scene.describe(rng, index, picture.shape, coded)
    larges = np.stack([scene.large(picture, s, t) for t in range(scene.LENGTH if coded else 1)])
    smalls = halved(larges, s["down"])
    if not coded:
        return [(larges[0], smalls[0], [])]
    other = scene.describe(rng, index, picture.shape, coded)
    made = [code(smalls, crf=how["crf"], preset=how["preset"]) for how in (s, other)]
    told = lambda q, t: max(1.0, q[t]) if rng.random() < 0.5 else smoothed(q, t)
    return [(larges[t], smalls[t], [(c[t].copy(), told(q, t)) for c, q in made]) for t in scene.USED]


def coded_whole(folder: Path, s: dict) -> list[tuple[np.ndarray, list[tuple[np.ndarray, float]]]]:
    """Of each used frame: the picture, and each coded one with the quantiser to tell the network."""
    pictures = frames(folder, s)
    coded = [code(pictures, **how) for how in s["coded"]]
    return [(pictures[t].copy(), [(c[t].copy(), max(1.0, q[t])) for c, q in coded]) for t in s["used"] if t < len(pictures)]


def validation_whole(folder: Path, clip: dict) -> dict[str, list[tuple[np.ndarray, np.ndarray, float]]]:
    """As `validation_by_quality`, coded at the clip's size, which is at most 720 lines."""
    factor = min(1, 720 / clip["height"])
    size = tuple(int(clip[k] * factor) // 4 * 4 for k in ("height", "width"))
    pictures = frames(folder, clip | {"start": 0, "length": LENGTH, "size": size, "flags": "area"})
    name, none, chosen, out = f"{clip['name']}-whole", np.zeros((0, 0), np.uint8), range(4, len(pictures), 20), {}
    out[f"{name}/clean"] = [(none, pictures[t].copy(), 0.0) for t in chosen]
    for crf in (23, 28, 33):
        coded, q = code(pictures, crf=crf)
        out[f"{name}/{crf}"] = [(none, coded[t].copy(), max(1.0, q[t])) for t in chosen]
    return out


def validation(folder: Path, clip: dict) -> dict[str, list[tuple[np.ndarray, np.ndarray, float]]]:
    """Every eighth frame of the clip's first stretch as (large, coded small, quantiser), by rate."""
    size = (clip["height"] // 4 * 4, clip["width"] // 4 * 4)
    larges = frames(folder, clip | {"start": 0, "length": LENGTH, "size": size, "flags": "area"})
    smalls, out = halved(larges, "area"), {}
    for full in scene.CALL_RATES:
        coded, q = code(smalls, rate=scene.call_rate(full, size))
        out[f"{clip['name']}/{full}"] = [(larges[t].copy(), coded[t].copy(), smoothed(q, t)) for t in range(4, len(larges), 8)]
    return out


def validation_by_quality(folder: Path, clip: dict) -> dict[str, list[tuple[np.ndarray, np.ndarray, float]]]:
    """Every twentieth frame of the clip's first stretch as (large, small, quantiser), clean and by CRF."""
    size = (clip["height"] // 4 * 4, clip["width"] // 4 * 4)
    larges = frames(folder, clip | {"start": 0, "length": LENGTH, "size": size, "flags": "area"})
    smalls, chosen = halved(larges, "area"), range(4, len(larges), 20)
    out = {f"{clip['name']}/clean": [(larges[t].copy(), smalls[t].copy(), 0.0) for t in chosen]}
    for crf in (23, 28, 33):
        coded, q = code(smalls, crf=crf)
        out[f"{clip['name']}/{crf}"] = [(larges[t].copy(), coded[t].copy(), smoothed(q, t)) for t in chosen]
    return out
