"""The networks in PyTorch: in float with collapsible convolutions, and quantised with README.md's integer rule.

Both take the u8 picture's values as floats 0...255 with its border already extended, and give the residual over the
fixed base in grey levels, [batch][4][h][w]."""
from __future__ import annotations

import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import nn

import bnw

BUCKETS = len(bnw.EDGES)
SHAPES = {"neural-s": [1, 8, 8, 8, 8, 4], "neural-m": [1, 16, 16, 16, 16, 16, 16, 4]}
SHAPES["neural-s-calls"] = [1, *[8] * 4, 4]
SHAPES["neural-m-calls"] = [1, *[16] * 8, 4]
SHAPES["quality"] = [1, *[40] * 10, 4]
SHAPES["quality-calls"] = [1, *[40] * 9, 4]
#: The largest that the kernels' time allows for stills: 408 384 multiplications a pixel.
SHAPES["quality-l"] = [1, *[64] * 12, 4]
#: At the same size, on the four phases of a 2x2 grid: 3168 and 21 312 multiplications a pixel.
SHAPES["restore-s"] = [4, *[16] * 6, 4]
SHAPES["restore-m"] = [4, *[32] * 10, 4]


def chain(inner: int, width: int = 16) -> list[int]:
    """The widths of a network with so many layers between the first and the last."""
    return [1, *[width] * (inner + 1), 4]


class Collapsible(nn.Module):
    """A 3x3 convolution into many channels and a 1x1 back, with a skip where shapes allow, kept as one 3x3 kernel: the
    product is what is convolved with (SESR, Bhardwaj et al. 2022). Gain and bias depend on the quantiser's bucket."""

    def __init__(self, inputs: int, outputs: int, expand: int = 64, zero: bool = False):
        super().__init__()
        self.a = nn.Parameter(torch.empty(expand, inputs, 3, 3))
        self.b = nn.Parameter(torch.empty(outputs, expand, 1, 1))
        self.skip = inputs == outputs
        nn.init.kaiming_normal_(self.a)
        nn.init.xavier_normal_(self.b, gain=0.5 if self.skip else 1.0)
        if zero:
            nn.init.zeros_(self.b)
        self.bias, self.logGain = nn.Parameter(torch.zeros(outputs)), nn.Parameter(torch.zeros(outputs))
        self.bucketBias = nn.Parameter(torch.zeros(BUCKETS, outputs))
        self.bucketLogGain = nn.Parameter(torch.zeros(BUCKETS, outputs))

    def kernel(self) -> torch.Tensor:
        k = torch.einsum("oe,eiyx->oiyx", self.b[:, :, 0, 0], self.a)
        if self.skip:
            k = k + F.pad(torch.eye(k.shape[0], device=k.device)[:, :, None, None], (1, 1, 1, 1))
        return k

    def tables(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.bias + self.bucketBias, torch.exp(self.logGain + self.bucketLogGain)

    def forward(self, x: torch.Tensor, bucket: torch.Tensor) -> torch.Tensor:
        bias, gain = self.tables()
        with torch.autocast(x.device.type, enabled=False):
            kernel = self.kernel()
        y = F.conv2d(x, kernel.to(x.dtype).contiguous(memory_format=torch.channels_last))
        return y * gain[bucket][:, :, None, None].to(y.dtype) + bias[bucket][:, :, None, None].to(y.dtype)


class Float(nn.Module):
    def __init__(self, widths: list[int]):
        super().__init__()
        self.widths = widths
        last = len(widths) - 2
        self.layers = nn.ModuleList(Collapsible(i, o, zero=n == last) for n, (i, o) in enumerate(zip(widths, widths[1:])))
        self.register_buffer("slope", torch.tensor(0.0))  # of the ReLU's negative side; training lets it go to 0

    @torch.no_grad()
    def load(self, network: bnw.Network) -> None:
        """Starts from a quantised network: what it computes, but for its roundings and upper limits. Layers that this one
        has more of stand between that one's, and change nothing at first. Nor do channels: nothing reads them yet."""
        more, count = len(self.layers) - len(network.layers), len(network.layers)
        places = [n + (0 if n == 0 else more if n == count - 1 else n * more // (count - 1)) for n in range(count)]
        for n in set(range(len(self.layers))) - set(places):
            nn.init.zeros_(self.layers[n].b)
        for n, layer in zip(places, network.layers):
            own = self.layers[n]
            weights = torch.from_numpy(layer.weights.astype("f4")).permute(0, 3, 1, 2)
            factor = torch.from_numpy(layer.mult.astype("f4")) / (32768 * 2**layer.shift)
            bias = (torch.from_numpy(layer.bias.astype("f4")) - (2 ** (layer.shift - 1) if layer.shift else 0)) * factor / 255
            if n == len(self.layers) - 1:
                factor, bias = factor / 64, bias / 64
            if n == 0:
                bias = bias + factor * weights.sum((1, 2, 3)) / 2
            mean = factor.mean(0)
            kernel = own.kernel()
            outputs, inputs = weights.shape[:2]
            kernel[:outputs, inputs:] = 0
            kernel[:outputs, :inputs] = weights * mean[:, None, None, None]
            if own.skip:
                kernel = kernel - F.pad(torch.eye(len(kernel))[:, :, None, None], (1, 1, 1, 1))
            nn.init.orthogonal_(own.b)
            own.a.copy_((torch.linalg.pinv(own.b[:, :, 0, 0]) @ kernel.flatten(1)).view_as(own.a))
            more = (0, len(kernel) - outputs)
            bias, factor, mean = F.pad(bias, more), F.pad(factor, more, value=1.0), F.pad(mean, more, value=1.0)
            own.bias.copy_(bias.mean(0))
            own.bucketBias.copy_(bias - bias.mean(0))
            own.logGain.zero_()
            own.bucketLogGain.copy_(torch.log(factor / mean))

    def forward(self, x: torch.Tensor, bucket: torch.Tensor, seen: list | None = None, half: bool = False) -> torch.Tensor:
        a = x * (1 / 255) - 0.5
        if half:
            a = a.bfloat16()
        for layer in self.layers[:-1]:
            z = layer(a, bucket)
            a = torch.maximum(z, z * self.slope.to(z.dtype))
            if seen is not None:
                seen.append(a)
        return self.layers[-1](a, bucket).float() * 255

    @torch.no_grad()
    def collapsed(self) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Each layer's kernel, bias and gain as z = gain * conv(kernel, a) + bias, for an input of u8 / 255."""
        out = []
        for n, layer in enumerate(self.layers):
            kernel, (bias, gain) = layer.kernel(), layer.tables()
            if n == 0:
                bias = bias - gain * kernel.sum((1, 2, 3)) * 0.5
            out.append((kernel, bias, gain))
        return out


class _Floor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.floor(x)

    @staticmethod
    def backward(ctx, g):
        return g


def _round(x: torch.Tensor) -> torch.Tensor:
    return _Floor.apply(x + 0.5)


def _weight_step(kernel: torch.Tensor) -> torch.Tensor:
    """Per output channel, the step of the least squared error among those that clip the largest weights a little."""
    whole = kernel.abs().amax((1, 2, 3)).clamp_min(1e-8) / 63
    steps = torch.stack([whole * f for f in (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)])
    k = kernel[None]
    step = steps[:, :, None, None, None]
    error = ((torch.floor(k / step + 0.5).clamp(-64, 63) * step - k) ** 2).sum((2, 3, 4))
    return steps.gather(0, error.argmin(0, keepdim=True))[0]


class Quantised(nn.Module):
    """Integers held in floats: exact in fp32 and in TF32 (activations and weights below 2^8, sums below 2^24), except
    that a product t * mult may round; gradients pass straight through every rounding."""

    def __init__(self, network: Float, ranges: list[torch.Tensor], least_error: bool = True):
        super().__init__()
        self.widths = network.widths
        self.shifts: list[int] = []
        self.v, self.b, self.m = nn.ParameterList(), nn.ParameterList(), nn.ParameterList()
        self.units, self.mult0 = [], []
        collapsed = [tuple(p.detach() for p in layer) for layer in network.collapsed()]
        step = torch.full((1,), 1 / 255, device=collapsed[0][0].device)
        for n, (kernel, bias, gain) in enumerate(collapsed):
            last = n == len(collapsed) - 1
            out = torch.full((4,), 1 / (255 * 64), device=kernel.device) if last else ranges[n] / 255
            scaled = kernel * step[None, :, None, None]
            weightStep = _weight_step(scaled) if least_error else scaled.abs().amax((1, 2, 3)).clamp_min(1e-8) / 62
            factor = gain * weightStep / out  # of acc, to the layer's output units
            shift = int(max(0, min(15, math.floor(math.log2((24000 if last else 8192) / 32768 / factor.max().item())))))
            mult = (factor * 32768 * 2**shift).clamp(1, 32767)
            unit = 2**shift * 32768 / mult * (4096 if last else 255)  # acc for the full range of the output
            self.shifts.append(shift)
            self.v.append(nn.Parameter(scaled / weightStep[:, None, None, None] / 64))
            self.b.append(nn.Parameter(bias / (gain * weightStep) / unit))
            self.m.append(nn.Parameter(torch.zeros_like(mult)))
            self.units.append(unit)
            self.mult0.append(mult)
            step = out

    def integers(self, n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        weights = _round(self.v[n] * 64).clamp(-64, 63)
        bias = _round((self.b[n] * self.units[n]).clamp(-(2.0**24) + 2.0**15, 2.0**24 - 2.0**15))
        mult = _round(self.mult0[n] * torch.exp(self.m[n])).clamp(1, 32767)
        return weights, bias, mult

    def forward(self, x: torch.Tensor, bucket: torch.Tensor) -> torch.Tensor:
        a = x
        for n, shift in enumerate(self.shifts):
            weights, bias, mult = self.integers(n)
            acc = F.conv2d(a, weights.contiguous(memory_format=torch.channels_last)) + bias[bucket][:, :, None, None]
            t = _Floor.apply((acc + (2 ** (shift - 1) if shift else 0)) / 2**shift).clamp(-32768, 32767)
            r = _round(t * (mult[bucket] / 32768)[:, :, None, None])
            a = r.clamp(0, 255) if n + 1 < len(self.shifts) else r / 64
        return a

    @torch.no_grad()
    def network(self) -> bnw.Network:
        layers = []
        for n, shift in enumerate(self.shifts):
            weights, bias, mult = (p.cpu() for p in self.integers(n))
            rounding = 2 ** (shift - 1) if shift else 0
            layers.append(bnw.Layer(shift, weights.permute(0, 2, 3, 1).numpy().astype("i1"),
                                    (bias + rounding).numpy().astype("i4"), mult.numpy().astype("i2")))
        if self.widths[0] == 4:
            layers[-1].mult[0] = 1  # pictures that are fine enough stay as they are
            return bnw.Network(layers, bnw.RESTORING_EDGES, scale=1)
        return bnw.Network(layers)


class Fixed(nn.Module):
    """A network of the repository, as it computes."""

    def __init__(self, network: bnw.Network):
        super().__init__()
        self.widths = [network.layers[0].weights.shape[3], *(len(layer.weights) for layer in network.layers)]
        self.shifts = [layer.shift for layer in network.layers]
        for n, layer in enumerate(network.layers):
            self.register_buffer(f"weights{n}", torch.from_numpy(layer.weights.astype("f4")).permute(0, 3, 1, 2).contiguous())
            self.register_buffer(f"bias{n}", torch.from_numpy(layer.bias.astype("f4")))
            self.register_buffer(f"mult{n}", torch.from_numpy(layer.mult.astype("f4")) / 32768)

    @torch.no_grad()
    def forward(self, x: torch.Tensor, bucket: torch.Tensor) -> torch.Tensor:
        of = lambda name, n: getattr(self, f"{name}{n}")
        for n, shift in enumerate(self.shifts):
            acc = F.conv2d(x, of("weights", n)) + of("bias", n)[bucket][:, :, None, None]
            t = torch.floor(acc / 2**shift).clamp(-32768, 32767)
            r = torch.floor(t * of("mult", n)[bucket][:, :, None, None] + 0.5)
            x = r.clamp(0, 255) if n + 1 < len(self.shifts) else r / 64
        return x


@lru_cache
def _taps(device: torch.device) -> torch.Tensor:
    return torch.tensor([[-3.0, 29.0, 111.0, -9.0, 0.0], [0.0, -9.0, 111.0, 29.0, -3.0]], device=device)


def base(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The integer base of reference.py for [batch][1][h + 2 radius][w + 2 radius], in grey levels, [batch][1][2h][2w]. Of
    four phases it is the picture itself."""
    if x.shape[1] == 4:
        return F.pixel_shuffle(x[:, :, radius:-radius, radius:-radius], 2)
    k = radius - 2
    x = x[:, :, k : x.shape[2] - k, k : x.shape[3] - k] if k else x
    taps = _taps(x.device)
    h = torch.floor((F.conv2d(x, taps.view(2, 1, 1, 5)) + 4) / 8)
    b, _, rows, columns = h.shape
    h = h.permute(0, 2, 3, 1).reshape(b, 1, rows, 2 * columns)
    v = torch.floor((F.conv2d(h, taps.view(2, 1, 5, 1)) + 16) / 32)
    return v.permute(0, 2, 1, 3).reshape(b, 1, 2 * (rows - 4), 2 * columns) / 64
