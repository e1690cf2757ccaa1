"""The fusion network in PyTorch: planes [b][14][h][w] in grey levels -> luma [b][h][w]. README.md has its arithmetic in integers."""
import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F

# What the planes are: the removed picture, the finished one of `quality`, both neighbours, and the drawn ones (a side each).
PLANES = ["truth", "made", "before", "after", "half-", "half+", "full-", "full+", "quarter-", "quarter+", "outer-", "outer+", "beyond-", "beyond+"]
# The same, backwards in time.
BACKWARDS = [0, 1, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12]


class Fusion(nn.Module):
    def __init__(self, a=32, b=64, drop=0.0, lose=0.0):
        """a, b: channels at half and at quarter size. While training, drop: channels, and lose: pictures that are left out at random."""
        super().__init__()
        self.drop, self.lose = drop, lose
        conv = lambda i, o, stride=1: nn.Conv2d(i, o, 3, stride, 1)
        self.first = conv(4 * 13, a)
        self.down = conv(a, b, 2)
        self.inner = nn.ModuleList([conv(b, b) for _ in range(3)])
        self.up = nn.Conv2d(b, 4 * a, 1)
        self.mid = nn.ModuleList([conv(a, a), conv(a, a)])
        self.last = conv(a, 4 * 14)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)
        # It begins with nearly the finished picture.
        nn.init.zeros_(self.last.weight)
        with torch.no_grad():
            self.last.bias.view(14, 4)[12] = 3.0

    def features(self, planes):
        made = planes[:, 1:2]
        local = F.avg_pool2d(F.pad(made, (3, 3, 3, 3), mode="replicate"), 7, 1)
        d = planes[:, 2:] - made
        if self.training and self.lose:
            d = d * (torch.rand(d.shape[0], d.shape[1], 1, 1, device=d.device) >= self.lose)
        return d, torch.cat([d, made - local], 1) * (1 / 16)

    def forward(self, planes, half=False):
        d, x = self.features(planes)
        x = F.pixel_unshuffle(x, 2)
        if half:
            x = x.to(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16) if half else contextlib.nullcontext():
            f = F.relu(self.first(x))
            q = F.dropout2d(F.relu(self.down(f)), self.drop, self.training)
            for n, layer in enumerate(self.inner):
                q = F.relu(layer(q) + (q if n else 0))
            f = F.relu(f + F.pixel_shuffle(self.up(q), 2))
            f = F.dropout2d(F.relu(self.mid[0](f)), self.drop, self.training)
            f = F.relu(self.mid[1](f) + f)
            o = self.last(f)
        o = F.pixel_shuffle(o.float(), 2)
        weights = torch.softmax(o[:, :13], 1)[:, :12]
        out = planes[:, 1] + (weights * d).sum(1) + 4 * o[:, 13]
        known = planes[:, 1:]
        return torch.minimum(torch.maximum(out, known.amin(1)), known.amax(1))


def pad(planes):
    """To sides that are multiples of four."""
    h, w = planes.shape[2:]
    return F.pad(planes, (0, -w % 4, 0, -h % 4), mode="replicate")
