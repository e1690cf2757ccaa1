"""Moving scenes out of photographs, whose picture at any time is known. Needs NumPy and OpenCV (cv2)."""
import cv2
import numpy as np

SIZE = (640, 352)
# Pictures are drawn larger and then made smaller, so that edges have no steps.
LARGER = 2


class Scene:
    """A photograph that pans, turns and zooms, and things in front of it that have ways of their own.

    Ways are sums of an even motion and a wave, so speed changes all the time.
    """

    def __init__(self, photographs, seed):
        """`photographs`: grey levels of the background, then of what the things are cut out of. `seed` gives the motion."""
        self.chance = np.random.default_rng(seed)
        # Samples in a second at the size of the picture: from a slow pan to a fast one.
        self.pace = float(self.chance.choice([40, 90, 160, 280]))
        # The share of 1/120 s for which the shutter is open.
        self.shutter = float(self.chance.choice([0, 1]))
        background, *others = photographs
        zoom = 0.9 * min(background.shape[1] / SIZE[0], background.shape[0] / SIZE[1]) / LARGER
        self.layers = [self.layer(background, zoom, 1.0, None)]
        for _ in range(int(self.chance.integers(1, 4))):
            texture = others[int(self.chance.integers(len(others)))]
            self.layers.append(self.layer(texture, self.chance.uniform(0.4, 0.9), self.chance.uniform(0.5, 1.8), self.chance.uniform(30, 90)))

    def layer(self, texture, zoom, pace, radius):
        chance, fast = self.chance, self.pace * pace
        direction = chance.uniform(0, 2 * np.pi)
        return {
            "texture": texture.astype(np.float32), "zoom": zoom, "radius": radius,
            "from": np.array([0, 0]) if radius is None else chance.uniform(-0.35, 0.35, 2) * SIZE,
            "even": fast * np.array([np.cos(direction), 0.5 * np.sin(direction)]) * (0.3 if radius is None else 0.6),
            "wave": fast * chance.normal(0, 0.15, 2), "turns": chance.uniform(2, 6), "at": chance.uniform(0, 2 * np.pi),
            "turn": chance.normal(0, 0.05), "grow": chance.normal(0, 0.04), "flat": chance.uniform(0.6, 1.6),
        }

    def drawn(self, time):
        """Grey levels at a time in seconds, larger than the picture."""
        width, height = SIZE[0] * LARGER, SIZE[1] * LARGER
        picture = None
        for layer in self.layers:
            x, y = layer["from"] + layer["even"] * time + layer["wave"] * np.sin(layer["turns"] * time + layer["at"])
            scale, angle = np.exp(layer["grow"] * time) / layer["zoom"], layer["turn"] * time
            c, s = scale * np.cos(angle), scale * np.sin(angle)
            texture = layer["texture"]
            middle = np.array([texture.shape[1], texture.shape[0]]) / 2
            place = np.array([width / 2 + x * LARGER, height / 2 + y * LARGER])
            matrix = np.array([[c, -s, place[0] - c * middle[0] + s * middle[1]], [s, c, place[1] - s * middle[0] - c * middle[1]]])
            shown = cv2.warpAffine(texture, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
            if layer["radius"] is None:
                picture = shown
                continue
            columns, rows = np.meshgrid(np.arange(width) - place[0], np.arange(height) - place[1])
            a = (np.cos(angle) * columns + np.sin(angle) * rows) / layer["flat"]
            b = -np.sin(angle) * columns + np.cos(angle) * rows
            share = np.clip(layer["radius"] * LARGER * np.exp(layer["grow"] * time) - np.hypot(a, b) + 0.5, 0, 1).astype(np.float32)
            picture += share * (shown - picture)
        return picture

    def frame(self, time):
        """A planar 8-bit 4:2:0 frame without colour."""
        steps = 4 if self.shutter else 1
        mean = sum(self.drawn(time + self.shutter / 120 * step / steps) for step in range(steps)) / steps
        luma = 16 + cv2.resize(mean, SIZE, interpolation=cv2.INTER_AREA) * (219 / 255)
        return luma.round().clip(0, 255).astype(np.uint8).tobytes() + bytes([128]) * (SIZE[0] * SIZE[1] // 2)


def scenes(photographs):
    """One scene with each photograph behind."""
    return [Scene(photographs[at:] + photographs[:at], at) for at in range(len(photographs))]
