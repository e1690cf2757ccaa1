"""Sound in transport streams on which other servers, players and packagers failed. Each row names its source."""
from . import Row, multiplex as ts
from .hunt import SMALL, even, numbered, pictures, same_sound
from .opus import call
from .transport import ZERO_DELAY, all_shown, plain, through


def sounds(*kinds):
    """Formats of sound: as they come beside the picture, and transcoded to Opus for a call."""
    def run(lab):
        found = []
        for name, *options in kinds:
            path = plain(lab, *ZERO_DELAY, "-g", 30, sound=options, seconds=4, name=f"{name}.ts", **SMALL)
            packets = ts.read(path)
            report, out = through(lab, packets)
            text = same_sound(lab, packets, out)
            loud, total, gaps = call(lab, packets)
            lab.want(loud > 3.7, f"{name}: {loud:.1f} of 4 s are heard in a call")
            lab.want(all(abs(gap) < 0.05 for gap in gaps), f"{name}: gaps {gaps[:5]}")
            found.append(f"{name} {text.split(',')[0].split()[1]}, {loud:.1f} s")
        return "; ".join(found)
    return run


def joined(lab, *parts):
    """Streams one behind the other, on one clock and with right counters."""
    packets = []
    for number, options in enumerate(parts):
        path = plain(lab, *ZERO_DELAY, "-g", 30, "-output_ts_offset", 4 * number, sound=["-c:a", "aac", *options], seconds=4,
                     name=f"{number}.ts", **SMALL)
        packets += ts.read(path)
    return numbered(packets)


def layout_changes(lab):
    packets = joined(lab, ["-ac", 6], ["-ac", 2, "-ar", 44100], ["-ac", 1])
    report, out = through(lab, packets)
    text = same_sound(lab, packets, out)
    loud, total, gaps = call(lab, packets)
    lab.want(loud > 11.5, f"{loud:.1f} of 12 s are heard in a call")
    lab.want(all(abs(gap) < 0.1 for gap in gaps), f"gaps {gaps[:5]}")
    return f"{text}; {loud:.1f} of 12 s heard in a call"


def frames_split(lab):
    """Frames of AAC begin in one PES packet and end in the next one."""
    packets = ts.read(plain(lab, **SMALL))
    sound, rest = ts.sound(packets), [b""]

    def split(number, header, body):
        body = rest[0] + body
        cut = max(1, len(body) - 150) if number < last else len(body)
        rest[0], body = body[cut:], body[:cut]
        return [header[:4] + (len(header) - 6 + len(body)).to_bytes(2, "big") + header[6:] + body]
    last = len(ts.pes(packets, sound)) - 1
    packets = ts.repack(packets, sound, split)
    report, out = through(lab, packets)
    text = same_sound(lab, packets, out)
    loud, total, gaps = call(lab, packets)
    lab.want(loud > 5.7, f"{loud:.1f} of 6 s are heard in a call")
    return f"{text}; {loud:.1f} of 6 s heard in a call, gaps {[round(gap, 3) for gap in gaps[:3]]}"


def opus_together(lab):
    """Five packets of Opus in a PES packet, with one time stamp."""
    packets, waiting = ts.read(plain(lab, *ZERO_DELAY, "-g", 30, sound=["-c:a", "libopus"], **SMALL)), []
    sound = ts.sound(packets)
    last = len(ts.pes(packets, sound)) - 1

    def join(number, header, body):
        waiting.append((header, body))
        if len(waiting) < 5 and number < last:
            return []
        head, data = waiting[0][0], b"".join(body for _, body in waiting)
        waiting.clear()
        return [head[:4] + (len(head) - 6 + len(data)).to_bytes(2, "big") + head[6:] + data]
    packets = ts.repack(packets, sound, join)
    report, out = through(lab, packets)
    text = same_sound(lab, packets, out)
    loud, total, gaps = call(lab, packets)
    lab.want(loud > 5.7, f"{loud:.1f} of 6 s are heard in a call")
    lab.want(all(abs(gap) < 0.01 for gap in gaps), f"gaps {gaps[:5]}")
    return f"{text}; {loud:.1f} of 6 s heard in a call"


def no_frames(lab):
    """An encoder without a microphone: the map names AAC, whose PES packets hold zeros."""
    packets = ts.read(plain(lab, **SMALL))
    sound = ts.sound(packets)
    packets = ts.repack(packets, sound, lambda number, header, body: [
        header[:4] + (len(header) - 6 + len(body)).to_bytes(2, "big") + header[6:] + bytes(len(body))])
    total = pictures(packets)
    report, out = through(lab, packets)
    found = all_shown(lab, report, total)
    even(lab, out)
    call(lab, packets)
    lines = len(lab.events.split("latency in ms")[0].splitlines())
    lab.want(lines < 6, f"{lines} lines in a call")
    return f"{found}; {same_sound(lab, packets, out)}; {lines} lines in a call"


def named_before(lab):
    """The map names two languages, and packets of the second one alone come."""
    packets = ts.read(plain(lab, **SMALL))
    packets = ts.remap(packets, lambda clock, program, entries, number: (
        clock, program, [(0x0F, 0x1F0, b"\x0a\4eng\0"), *entries]))
    loud, total, gaps = call(lab, packets)
    lab.want(loud > 4.5, f"{loud:.1f} of 6 s are heard in a call")
    return f"{loud:.1f} of 6 s heard in a call"


ROWS = [
    # google/ExoPlayer #9243, #4866, androidx/media #796
    Row("sound-named", "a map that names sound of which nothing comes, before the sound", "heard in a call after a second", named_before),
    # xqq/mpegts.js #302, video-dev/hls.js #2530
    Row("sound-split", "frames of AAC that end in the next PES packet", "as they came; heard in a call", frames_split),
    # bluenviron/mediamtx #3388
    Row("opus-together", "five packets of Opus in a PES packet", "as they came; heard in a call", opus_together),
    # bluenviron/mediamtx #4403 (LATM), xqq/mpegts.js #87 (5.1), OvenMediaEngine #2224 and others
    Row("sound-formats", "AAC in LATM, in 5.1, at 22,050 Hz; layer II, AC-3, E-AC-3, Opus", "as they came; heard in a call", sounds(
        ("latm", "-c:a", "aac", "-mpegts_flags", "latm"), ("5.1", "-c:a", "aac", "-ac", 6), ("22050", "-c:a", "aac", "-ar", 22050),
        ("layer2", "-c:a", "mp2"), ("ac3", "-c:a", "ac3", "-ac", 6), ("eac3", "-c:a", "eac3"), ("opus", "-c:a", "libopus"))),
    # Nevcairiel/LAVFilters #715, xbmc/xbmc #17080, cannonbeach/ott-packager #14
    Row("sound-changes", "AAC that changes from 5.1 to stereo of 44.1 kHz and to mono", "as it came; heard in a call", layout_changes),
    # video-dev/hls.js #7952
    Row("sound-empty", "an encoder without a microphone: AAC whose packets hold zeros", "all pictures, no flood of lines", no_frames),
]
