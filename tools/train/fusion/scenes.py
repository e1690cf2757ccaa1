"""Synthetic scenes on the device: things that move over each other, with changes of speed, blur and deformation."""
import math
import torch
import torch.nn.functional as F

W, H, T = 384, 256, 9


def smooth_noise(n, h, w, coarse, dev):
    return F.interpolate(torch.randn(n, 2, coarse, coarse, device=dev), (h, w), mode="bicubic", align_corners=True)


@torch.no_grad()
def scene(textures, g, dev):
    """Frames [T][H][W] in grey levels. `g` is a numpy generator."""
    k = int(g.choice([0, 1, 2, 3, 4, 6], p=[0.1, 0.25, 0.25, 0.2, 0.1, 0.1]))
    blur = g.random() < 0.4
    subs, shutter = (5, g.uniform(0.2, 0.9)) if blur else (1, 0.0)
    yy, xx = torch.meshgrid(torch.arange(H, device=dev) + 0.5, torch.arange(W, device=dev) + 0.5, indexing="ij")
    xx, yy = xx - W / 2, yy - H / 2
    th, tw = textures.shape[-2:]
    pace = float(np_exp(g))

    def motion(scale):
        v = g.normal(0, 1, 2) * scale * [1, 0.6]
        still = g.random() < 0.2
        return {"v": v * (not still), "a": v * g.normal(0, 0.06, 2) * (g.random() < 0.6) * (not still),
                "w": g.normal(0, 0.008) * (g.random() < 0.5), "k": g.normal(0, 0.008) * (g.random() < 0.5),
                "wave": g.uniform(0, 0.5) * scale * (g.random() < 0.2), "f": g.uniform(0.3, 1.2), "p": g.uniform(0, 6.28)}
    camera = motion(pace)
    layers = []
    for n in range(k + 1):
        m = camera if n == 0 else motion(pace * g.uniform(0.3, 2.0))
        size = g.uniform(12, 90)
        layers.append(dict(m, texture=int(g.integers(len(textures))), zoom=g.uniform(0.6, 1.7), angle=g.uniform(0, 6.28) if g.random() < 0.5 else 0.0,
                           cx=g.uniform(0.2, 0.8) * tw, cy=g.uniform(0.25, 0.75) * th, x=g.uniform(-0.45, 0.45) * W, y=g.uniform(-0.45, 0.45) * H,
                           size=size, flat=g.uniform(0.15, 1.0), turn=g.uniform(0, 6.28), bumps=g.normal(0, 1, (5, 2)) * 0.12, edge=g.uniform(0.5, 1.4),
                           level=g.uniform(0.7, 1.3), shade=g.uniform(-30, 30)))
    shake = g.normal(0, 0.6, (T, 2)) * (g.random() < 0.4)
    deform = smooth_noise(k + 1, H, W, int(g.integers(4, 9)), dev) if g.random() < 0.4 else None
    amount, speed = g.uniform(0.5, 4), g.uniform(0.05, 0.35)
    drift = g.normal(0, 0.01) * (g.random() < 0.15)
    col = lambda values: torch.tensor(values, dtype=torch.float32, device=dev)[:, None, None]
    times = [t - (T - 1) / 2 + (s / max(subs - 1, 1) - 0.5) * shutter for t in range(T) for s in range(subs)]
    time = col(times)
    sx, sy = (col([float(shake[t][i]) for t in range(T) for _ in range(subs)]) for i in range(2))
    picture = None
    for n, l in enumerate(layers):
        px = l["v"][0] * time + l["a"][0] * time * time / 2 + l["wave"] * torch.sin(l["f"] * time + l["p"]) + sx
        py = l["v"][1] * time + l["a"][1] * time * time / 2 + sy
        if n:
            px, py = px + l["x"], py + l["y"]
        angle, zoom = l["w"] * time, torch.exp(l["k"] * time)
        x, y = xx[None] - px, yy[None] - py
        if deform is not None:
            x = x + deform[n, 0][None] * (amount * torch.sin(speed * time + n))
            y = y + deform[n, 1][None] * (amount * torch.sin(speed * time + n + 1))
        c, si = torch.cos(angle) / zoom, torch.sin(angle) / zoom
        x, y = c * x - si * y, si * x + c * y
        c, si = math.cos(l["angle"]) * l["zoom"], math.sin(l["angle"]) * l["zoom"]
        grid = torch.stack([(c * x - si * y + l["cx"]) / tw * 2 - 1, (si * x + c * y + l["cy"]) / th * 2 - 1], -1)
        texture = textures[l["texture"]][None, None].expand(len(times), 1, th, tw)
        value = F.grid_sample(texture, grid, mode="bilinear", padding_mode="reflection", align_corners=False)[:, 0]
        if n == 0:
            picture = value
            continue
        value = (value - 128) * l["level"] + 128 + l["shade"]
        c, si = math.cos(l["turn"]), math.sin(l["turn"])
        a, b = c * x - si * y, (si * x + c * y) / l["flat"]
        rho, theta = torch.sqrt(a * a + b * b + 1e-6), torch.atan2(b, a)
        bumps = 1
        for i, m in enumerate(l["bumps"]):
            bumps = bumps + float(m[0]) * torch.cos((i + 1) * theta) + float(m[1]) * torch.sin((i + 1) * theta)
        alpha = torch.sigmoid((l["size"] * bumps - rho) * (l["flat"] / l["edge"] * 2))
        picture = torch.lerp(picture, value, alpha)
    frames = picture.view(T, subs, H, W).mean(1)
    frames = frames * (1 + drift * torch.arange(T, device=dev)[:, None, None])
    if g.random() < 0.8:
        frames = 16 + frames * (219 / 255)
    if g.random() < 0.6:
        frames = frames + torch.randn_like(frames) * float(g.uniform(0.3, 3.0))
    return frames.round().clamp(0, 255).byte().cpu().numpy()


def np_exp(g):
    """Samples a frame that things move: half of the way between two pictures that are known."""
    return g.uniform(0, 0.6) if g.random() < 0.3 else min(g.exponential(2.2) + 0.1, 14)
