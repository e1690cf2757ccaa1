"""H.264 byte streams, as far as the rows of tools/check/field take them apart."""
SLICE, REFRESH, MESSAGE, SEQUENCE, PICTURE, DELIMITER = 1, 5, 6, 7, 8, 9


def kind(unit):
    return unit[0] & 31


def nal_units(stream):
    """The NAL units of a byte stream, without start codes and the zeros around them."""
    found = []
    at = stream.find(b"\0\0\1")
    while at >= 0:
        end = stream.find(b"\0\0\1", at + 3)
        found.append(stream[at + 3:end if end >= 0 else len(stream)].rstrip(b"\0") if end >= 0 else stream[at + 3:])
        at = end
    return found


def pictures(stream):
    """The NAL units of each access unit, without delimiters."""
    found, present, has_slice = [], [], False
    for unit in nal_units(stream):
        is_slice = kind(unit) in (SLICE, REFRESH)
        begins = is_slice and unit[1] & 0x80 or kind(unit) in (MESSAGE, SEQUENCE, PICTURE, DELIMITER)
        if has_slice and begins:
            found.append(present)
            present, has_slice = [], False
        if kind(unit) != DELIMITER:
            present.append(unit)
        has_slice = has_slice or is_slice
    return found + [present] if present else found


def parameter_sets(pictures):
    """The first sequence and the first picture parameter set."""
    units = [unit for picture in pictures for unit in picture]
    return [next(unit for unit in units if kind(unit) == wanted) for wanted in (SEQUENCE, PICTURE)]


def without_sets(pictures):
    return [[unit for unit in picture if kind(unit) not in (SEQUENCE, PICTURE)] for picture in pictures]
