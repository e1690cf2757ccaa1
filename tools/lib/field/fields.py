"""H.264 whose frames are two coded fields each (PAFF), which no free encoder makes: plain samples (I_PCM), CAVLC."""
import re


class Writer:
    def __init__(self):
        self.bits = ""

    def put(self, value, count):
        self.bits += f"{value:0{count}b}"
        return self

    def number(self, value):
        """Exp-Golomb, ue(v)."""
        text = f"{value + 1:b}"
        self.bits += "0" * (len(text) - 1) + text
        return self

    def numbers(self, *values):
        for value in values:
            self.number(value)
        return self

    def align(self):
        self.bits += "0" * (-len(self.bits) % 8)
        return self

    def data(self):
        return int(self.bits, 2).to_bytes(len(self.bits) // 8, "big") if self.bits else b""

    def unit(self, header):
        """The NAL unit, with its trailing bits and emulation prevention."""
        self.put(1, 1).align()
        return b"\0\0\0\1" + bytes([header]) + re.sub(rb"\x00\x00(?=[\x00-\x03])", b"\0\0\3", self.data())


def parameter_sets(across, down, rate=25):
    """For frames of so many macroblocks. Pictures are shown as they are decoded."""
    sequence = Writer().put(77, 8).put(0, 8).put(30, 8).numbers(0, 0, 2, 1).put(0, 1).numbers(across - 1, down // 2 - 1)
    sequence.put(0b0010, 4)  # fields may be coded; no adaptive macroblocks; direct inference; no cropping
    sequence.put(1, 1).put(0b0000, 4).put(1, 1).put(1, 32).put(2 * rate, 32).put(1, 1).put(0b000, 3)
    sequence.put(1, 1).put(1, 1).numbers(0, 0, 10, 10, 0, 1)
    picture = Writer().numbers(0, 0).put(0b00, 2).numbers(0, 0, 0).put(0b000, 3).numbers(0, 0, 0).put(0b100, 3)
    return sequence.unit(0x67) + picture.unit(0x68)


def field(across, down, number, is_bottom, is_first, luma):
    """A field of a frame: one grey, with a brighter column that moves."""
    refresh = is_first and number == 0
    slice = Writer().numbers(0, 7, 0).put(number & 15, 4).put(1, 1).put(is_bottom, 1)
    if refresh:
        slice.number(0).put(0b00, 2)
    else:
        slice.put(0, 1)
    slice.number(0).number(1)
    for place in range(across * down // 2):
        level = 200 if place % across == luma % across else 40 + luma % 100
        slice.number(25).align()
        slice.bits += f"{level:08b}" * 256 + f"{128:08b}" * 128
    return slice.unit(0x65 if refresh else 0x61)


def frames(count, across=10, down=6, every=25):
    """The two fields of each frame; parameter sets stand before each keyframe's first one."""
    sets, found = parameter_sets(across, down), []
    for number in range(count):
        place = number % every
        first, second = (field(across, down, place, bottom, not bottom, number) for bottom in (0, 1))
        found.append((b"\0\0\0\1\x09\x10" + (sets if place == 0 else b"") + first, b"\0\0\0\1\x09\x10" + second))
    return found
