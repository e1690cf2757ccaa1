"""How much of a picture's detail is kept, in a form that training can follow: the parts of VMAF NEG.

Both measures count what is there of the original and give nothing for more of it than the original has, which is what
NEG's limit of the enhancement's gain to 1 says:
- information: visual information fidelity (Sheikh and Bovik 2006) at four scales, in the pixel domain;
- detail: the detail loss measure (Li et al. 2011), in a Daubechies wavelet's four scales, with masking.
Constants are those of Netflix's libvmaf 3. On whole pictures both give its figures to three digits."""
from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

NOISE = 2.0  # the variance of the eye's noise in VIF, in squared grey levels

#: How much each feature moves the score, in points for 1: detail, then information from the finest scale. About the
#: slopes of the model vmaf_v0.6.1neg at scores of 40 to 80, but never negative.
SLOPES = (180.0, 3.0, 3.0, 22.0, 57.0)

LO = (0.482962913144690, 0.836516303737469, 0.224143868041857, -0.129409522550921)
HI = (-0.129409522550921, -0.224143868041857, 0.836516303737469, -0.482962913144690)


def _filter(n: int, taps: tuple[float, ...], first: int, step: int, count: int) -> torch.Tensor:
    """The matrix [count][n] whose row k weights the samples from k * step + first on; edges reflect."""
    out = np.zeros((count, n))
    for t, weight in enumerate(taps):
        at = np.abs(np.arange(count) * step + first + t)
        np.add.at(out, (np.arange(count), np.where(at < n, at, 2 * n - 2 - at)), weight)
    return torch.from_numpy(out).float()


def _gaussian(scale: int) -> tuple[float, ...]:
    n = 2 ** (4 - scale) + 1
    g = [math.exp(-0.5 * ((k - n // 2) / (n / 5)) ** 2) for k in range(n)]
    return tuple(v / sum(g) for v in g)


def _sensitivity(scale: int) -> list[float]:
    """To contrast in the three bands, at three picture heights from a display of 1080 lines (Watson et al. 1997)."""
    amplitude = ((0.67234, 0.72709), (0.41317, 0.49428), (0.22727, 0.28688), (0.11792, 0.15214))[scale]
    degree = 3.0 * 1080 * math.pi / 180
    step = lambda g, a: 2 * 0.495 * 10 ** (0.466 * math.log10(2 ** (scale + 1) * 0.401 * g / degree) ** 2) / a
    return [1 / step(1.0, amplitude[0]), 1 / step(1.0, amplitude[0]), 1 / step(0.534, amplitude[1])]


class Detail(nn.Module):
    """For pictures [n][1][height][width] in grey levels. Filters are matrices, in full fp32: the variances of VIF are
    small differences of large numbers. (Leave torch.backends.cuda.matmul.allow_tf32 off.)"""

    def __init__(self, height: int, width: int, border: float = 0.1):
        super().__init__()
        self.border = border
        for axis, n in (("y", height), ("x", width)):
            m = n
            for scale in range(4):
                g = _gaussian(scale)
                if scale:
                    self.register_buffer(f"halve{axis}{scale}", _filter(m, g, -(len(g) // 2), 2, m // 2))
                    m //= 2
                self.register_buffer(f"blur{axis}{scale}", _filter(m, g, -(len(g) // 2), 1, m))
            for scale in range(4):
                half = (n + 1) // 2
                for name, taps in (("lo", LO), ("hi", HI)):
                    self.register_buffer(f"{name}{axis}{scale}", _filter(n, taps, -1, 2, half))
                n = half
        for scale in range(4):
            self.register_buffer(f"sensitivity{scale}", torch.tensor(_sensitivity(scale)).view(1, 3, 1, 1))

    def _both(self, name: str, scale: int, x: torch.Tensor) -> torch.Tensor:
        return getattr(self, f"{name}y{scale}") @ x @ getattr(self, f"{name}x{scale}").T

    def information(self, got: torch.Tensor, truth: torch.Tensor, groups: int) -> list[torch.Tensor]:
        """At each scale each group's fidelity."""
        out, b = [], got.shape[0]
        both = torch.cat([truth, got])
        for scale in range(4):
            if scale:
                both = self._both("halve", scale, both)
            t, d = both.split(b)
            mt, md, tt, dd, td = self._both("blur", scale, torch.cat([t, d, t * t, d * d, t * d])).split(b)
            vt, vd, c = (tt - mt * mt).clamp_min(0), (dd - md * md).clamp_min(0), td - mt * md
            gain = c / (vt + 1e-3)
            rest = torch.where(gain < 0, vd, vd - gain * c).clamp_min(1e-3)
            gain = gain.clamp(0, 1)
            flat = vt < NOISE
            kept = torch.where(flat, 1 - vd * (NOISE**2 / 65025), torch.log2(1 + gain * gain * vt / (rest + NOISE)))
            whole = torch.where(flat, torch.ones_like(vt), torch.log2(1 + vt / NOISE))
            out.append(kept.reshape(groups, -1).sum(1) / whole.reshape(groups, -1).sum(1))
        return out

    def kept(self, got: torch.Tensor, truth: torch.Tensor, groups: int) -> torch.Tensor:
        """Each group's share of the original's detail."""
        b, both = got.shape[0], torch.cat([truth, got])
        kept, whole = 0.0, 0.0
        for scale in range(4):
            ylo, yhi, xlo, xhi = (getattr(self, f"{n}{a}{scale}") for a in "yx" for n in ("lo", "hi"))
            low, high = ylo @ both, yhi @ both
            both, bands = low @ xlo.T, torch.cat([high @ xlo.T, low @ xhi.T, high @ xhi.T], 1)
            o, t = bands.split(b)
            factor = getattr(self, f"sensitivity{scale}")
            # What has the original's sign, up to its size, is kept. The rest disturbs, and hides what is near it.
            size = o.abs()
            r = torch.minimum((t * o.sign()).clamp_min(0), size)
            rest = ((t - r * o.sign()) * factor).abs()
            hidden = F.avg_pool2d(F.pad(rest, (1, 1, 1, 1), mode="reflect"), 3, 1).sum(1, keepdim=True) * (9 / 30)
            hidden = hidden + rest.sum(1, keepdim=True) * (1 / 30)
            seen = F.relu(r * factor - hidden)
            h, w = o.shape[2:]
            y, x = (max(0, int(n * self.border - 0.5)) for n in (h, w))
            count = (h - 2 * y) * (w - 2 * x)
            noise = (count * (b // groups) / 32) ** (1 / 3)

            def pool(v: torch.Tensor) -> torch.Tensor:
                v = v[:, :, y : h - y, x : w - x].reshape(groups, b // groups, 3, count)
                return ((v**3).sum((1, 3)) + 1e-6) ** (1 / 3) + noise

            kept = kept + pool(seen).sum(1)
            whole = whole + pool(size * factor).sum(1)
        return kept / whole

    def forward(self, got: torch.Tensor, truth: torch.Tensor, groups: int = 1) -> torch.Tensor:
        """About the points of VMAF NEG that separate each group from a perfect one. A group is judged as one picture."""
        features = [self.kept(got, truth, groups), *self.information(got, truth, groups)]
        return sum(s * (1 - f) for s, f in zip(SLOPES, features))
