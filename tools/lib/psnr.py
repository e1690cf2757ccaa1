"""Peak signal-to-noise ratios of pictures with 8 bits a sample."""
import numpy as np


def psnr(a, b, border=0):
    """In dB, over all samples but the outermost `border` of each side. Equal pictures have 78 dB."""
    a, b = (np.asarray(each, np.float64) for each in (a, b))
    if border:
        a, b = (each[border:-border, border:-border] for each in (a, b))
    return float(10 * np.log10(255 ** 2 / max(((a - b) ** 2).mean(), 1e-3)))
