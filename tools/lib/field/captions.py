"""Captions (CEA-608) in coded pictures: the generator, and what FFmpeg reads behind a relay."""
import re, subprocess

from . import Row

LINES = ["FIRST LINE OF FOUR", "SECOND LINE OF FOUR", "THIRD LINE OF FOUR", "FOURTH LINE OF FOUR"]
FRAMES, RATE = 240, 30
EVERY = FRAMES // (len(LINES) + 1)


def odd(byte):
    """A byte with its parity bit."""
    return byte | (0 if bin(byte).count("1") % 2 else 0x80)


def pairs():
    """A pair of bytes of CEA-608's first field for each picture: captions that pop on, each behind the one before."""
    result = [(0x80, 0x80)] * FRAMES
    for number, line in enumerate(LINES):
        codes = [(0x14, 0x20)] * 2 + [(0x14, 0x2E)] * 2 + [(0x14, 0x70)] * 2  # load, clear the hidden memory, go to row 15
        text = line.encode() + b" " * (len(line) % 2)
        codes += list(zip(text[::2], text[1::2])) + [(0x14, 0x2F)] * 2  # show
        for place, (first, second) in enumerate(codes):
            result[number * EVERY + place] = (odd(first), odd(second))
    # The last line ends.
    result[len(LINES) * EVERY] = result[len(LINES) * EVERY + 1] = (odd(0x14), odd(0x2C))
    return result


def message(pair):
    """The contents of a message of registered user data: 20 pieces, of which two hold something."""
    pieces = bytes([0xFC, *pair, 0xFD, 0x80, 0x80]) + bytes([0xF8, 0, 0]) * 18
    return b"\xb5\x00\x31GA94\x03" + bytes([0x40 | 20, 0xFF]) + pieces + b"\xff"


def unit(header, payload):
    """A NAL unit with one message, with emulation prevention."""
    body = bytes([4, len(payload)]) + payload + b"\x80"
    return b"\0\0\0\1" + header + re.sub(rb"\x00\x00(?=[\x00-\x03])", b"\0\0\3", body)


def insert(stream, hevc):
    """Puts a message before the first slice of each picture of a byte stream without reordering."""
    starts = [match.start() for match in re.finditer(rb"\x00\x00\x01", stream)]
    result, last, picture = bytearray(), 0, 0
    all_pairs = pairs()
    for at in starts:
        kind = stream[at + 3] >> 1 & 63 if hevc else stream[at + 3] & 31
        slices = kind < 32 if hevc else kind in (1, 5)
        first = slices and stream[at + (5 if hevc else 4)] & 0x80
        if not first:
            continue
        begin = at - 1 if at and stream[at - 1] == 0 else at
        result += stream[last:begin] + unit(b"\x4e\1" if hevc else b"\6", message(all_pairs[picture]))
        last, picture = begin, picture + 1
    return bytes(result + stream[last:])


def source(lab, codec):
    """A transport stream with captions: H.264 and HEVC by this file's generator, B-frames and MPEG-2 through FFmpeg's encoders."""
    plain = ["-f", "lavfi", "-i", f"testsrc2=size=320x180:rate={RATE}", "-frames:v", FRAMES]
    if codec == "hevc":
        lab.ffmpeg(*plain, "-c:v", "libx265", "-x265-params", "bframes=0:keyint=30:log-level=none", lab.path("a.hevc"))
    else:
        lab.ffmpeg(*plain, "-c:v", "libx264", "-bf", "0", "-g", "30", lab.path("a.h264"))
    name = "a.hevc" if codec == "hevc" else "a.h264"
    lab.path("b." + name[2:]).write_bytes(insert(lab.path(name).read_bytes(), codec == "hevc"))
    lab.ffmpeg("-r", RATE, "-i", lab.path("b." + name[2:]), "-c", "copy", lab.path("plain.ts"))
    if codec == "h264-b":
        lab.ffmpeg("-i", lab.path("plain.ts"), "-c:v", "libx264", "-bf", "3", "-g", "30", "-a53cc", "1", lab.path("in.ts"))
    elif codec == "mpeg2":
        lab.ffmpeg(
            "-i", lab.path("plain.ts"), "-c:v", "mpeg2video", "-q:v", "4", "-bf", "2", "-g", "15", "-a53cc", "1", lab.path("in.ts"))
    else:
        lab.path("plain.ts").rename(lab.path("in.ts"))
    return lab.path("in.ts")


def read(file):
    """The lines that FFmpeg finds in a file's captions."""
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"movie={file}[out0+subcc]", "-map", "0:s", "-f", "srt", "-"],
        capture_output=True, text=True)
    text = re.sub(r"<[^>]*>|\{[^}]*\}|\\h", " ", done.stdout)
    return [line.strip() for line in text.split("\n") if re.search("[A-Z]", line)]


def relayed(codec, *options):
    def run(lab):
        stream = source(lab, codec)
        lab.want(read(stream) == LINES, f"the input itself has {read(stream)}")
        relay = lab.relay(stream, lab.path("out.ts"), "--tier", "base", "--budget", "5s", *options)
        code = relay.process.wait(300)
        lab.want(code == 0, f"exit {code}: {relay.text()}")
        found = read(lab.path("out.ts"))
        lab.want(found == LINES, f"read: {found}")
        counters = lab.report()["counters"]
        lab.want(counters.get("captions_dropped", 0) == 0, f"{counters.get('captions_dropped')} pieces dropped")
        return f"{len(found)} of {len(LINES)} lines, {counters.get('captions_passed', 0)} pieces passed"

    return run


def file(codec, kind, *options):
    def run(lab):
        code, text = lab.enhance(source(lab, codec), lab.path(f"out.{kind}"), "--tier", "base", *options)
        lab.want(code == 0, f"exit {code}: {text.strip()}")
        found = read(lab.path(f"out.{kind}"))
        lab.want(found == LINES, f"read: {found}")
        return f"{len(found)} of {len(LINES)} lines"

    return run


RIGHT = "FFmpeg reads every line"
ROWS = [
    Row("captions-h264", "captions in H.264", RIGHT, relayed("h264")),
    Row("captions-b-frames", "captions in H.264 with B-frames", RIGHT, relayed("h264-b")),
    Row("captions-hevc", "captions in HEVC", RIGHT, relayed("hevc")),
    Row("captions-mpeg2", "captions in MPEG-2 with B-frames", RIGHT, relayed("mpeg2")),
    Row("captions-interpolated", "the same, --interpolate 2", RIGHT, relayed("h264-b", "--interpolate", "2")),
    Row("captions-constant-rate", "the same, --fps 50", RIGHT, relayed("h264-b", "--fps", "50")),
    Row("captions-file", "captions in a file, --interpolate 2", RIGHT, file("mpeg2", "mp4", "--interpolate", "2", "--motion", "low-latency")),
]
