"""SRT, and what the hunt's streams become in other modes. Each row names its source."""
import socket, struct, subprocess, time

from ports import free_port
from . import Row, h264, multiplex as ts
from .hunt import (
    ALL, HEVC, HEARD, SMALL, even, messages_apart, numbered, pictures, same_sound, source, unaligned, wrapping)
from .hunt_coded import shown, sizes
from .transport import ZERO_DELAY, all_shown, plain, through


def over_rtp(type):
    """A sender of MPEG-TS over RTP with this payload type."""
    def send(packets, host, port):
        number = [0]

        class Datagrams(socket.socket):
            def sendto(self, data, address):
                number[0] += 1
                stamp = round(time.monotonic() * 90000) & 0xFFFFFFFF
                super().sendto(struct.pack(">BBHII", 0x80, type, number[0] & 0xFFFF, stamp, 7) + data, address)
        ts.send(packets, host, port, out=Datagrams(socket.AF_INET, socket.SOCK_DGRAM))
    return send


def typed(*types):
    """MPEG-TS over RTP with other payload types than 33."""
    def run(lab):
        packets, usual = source(lab)
        for type in types:
            report, out = through(lab, packets, live="rtp", send=over_rtp(type))
            found = all_shown(lab, report, pictures(usual))
            same_sound(lab, usual, out)
        return f"{found} each"
    return run


class Publisher:
    """Sends a file by SRT at its pace, as FFmpeg does."""

    def __init__(self, lab, file, url):
        self.done = subprocess.run(
            ["ffmpeg", "-v", "error", "-re", "-i", str(file), "-map", "0", "-c", "copy", "-f", "mpegts", url], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lab.want(self.done.returncode == 0, f"FFmpeg: {self.done.stdout[-200:]}")


def received(lab, publishers, query=""):
    """Publishes files one after the other to one relay: its report and its output's packets."""
    port = free_port()
    lab.path("out.ts").unlink(missing_ok=True)
    relay = lab.relay(f"srt://127.0.0.1:{port}?mode=listener{query}", lab.path("out.ts"), "--budget", "1s", "--tier", "base")
    relay.wait_for("listening")
    for file, more in publishers:
        Publisher(lab, file, f"srt://127.0.0.1:{port}?mode=caller&linger=1{more}")
        time.sleep(1)
    relay.stop()
    lab.events = relay.text()
    return lab.report(), ts.read(lab.path("out.ts"))


def large_messages(lab):
    """Messages of 1,456 bytes, in which packets are cut."""
    packets, _ = source(lab)
    report, out = received(lab, [(lab.path("plain.ts"), "&payload_size=1456")])
    found = all_shown(lab, report, pictures(packets))
    even(lab, out)
    return f"{found}; {same_sound(lab, packets, out)}"


def returns(lab):
    """A publisher who returns twice: with another size, and with another codec and other sound."""
    kinds = [("0.ts", "320x180", [*ZERO_DELAY, "-g", 30], ["-c:a", "aac"]), ("1.ts", "180x320", [*ZERO_DELAY, "-g", 30], ["-c:a", "aac"]),
             ("2.ts", "256x144", [*HEVC, "-x265-params", "log-level=none:keyint=30:bframes=0"], ["-c:a", "mp2"])]
    total, units = 0, 0
    for name, size, video, sound in kinds:
        packets = ts.read(plain(lab, *video, sound=sound, size=size, seconds=4, name=name))
        total, units = total + pictures(packets), units + len(ts.pes(packets, ts.sound(packets)))
    report, out = received(lab, [(lab.path(name), "") for name, *_ in kinds])
    found = all_shown(lab, report, total, damaged=3)
    got = sizes(lab.path("out.ts"))
    lab.want(got == ["640,360", "360,640", "512,288"], f"sizes {got}")
    return f"{found}; {', '.join(got)}"


def names(lab):
    """Stream identifiers as OBS, Larix and others write them, where the relay expects none."""
    plain(lab, seconds=2, **SMALL)
    total = 0
    identifiers = ["publish:live/a?key=1", "#!::r=live/a,m=publish", "live/a", "#!::h=10.0.0.1,r=a,m=publish,u=b"]
    for each in identifiers:
        report, out = received(lab, [(lab.path("plain.ts"), "&streamid=" + each.replace("#", "%23").replace("?", "%3f").replace("=", "%3d"))])
        total += report["frames"]["emitted"] >= 58
        lab.want(report["frames"]["emitted"] >= 58, f"{each}: {report['frames']['emitted']} of 60: {lab.events[-200:]}")
    return f"{total} of {len(identifiers)} identifiers"


def bypassed(make):
    """What comes is sent on byte for byte in bypass, and FFmpeg shows as many pictures of it."""
    def run(lab):
        total, packets = make(lab)
        ts.write(lab.path("sent.ts"), packets)
        wanted = shown(lab.path("sent.ts"))
        report, out = through(lab, packets, "--mode", "bypass")
        found = all_shown(lab, report, total, damaged=1, mode="bypassed")
        got = shown(lab.path("out.ts"))
        lab.want(got == wanted, f"FFmpeg shows {got} pictures, and {wanted} of what was sent")
        sent, came = (h264.nal_units(ts.payload(each)) for each in (packets, out))
        lab.want(sent == came, f"{len(came)} NAL units of {len(sent)}")
        return f"{found}; FFmpeg shows {got} of {wanted}"
    return run


def doubled(make, *options, most):
    """All pictures, and so many between them."""
    def run(lab):
        packets, usual = make(lab)
        report, out = through(lab, packets, *options)
        lost = dict(report["frames"].get("originals_dropped_by_reason"))
        # A picture that no slot of a constant rate shows is not lost.
        lost.pop("cadence", 0)
        total = pictures(usual)
        shown_originals = report["frames"]["originals"] - sum(lost.values())
        lab.want(report["frames"]["originals"] == total and not lost, f"{shown_originals} of {total}: {lost}")
        times = ts.stamps(out)
        lab.want(all(a < b for a, b in zip(times, times[1:])), "stamps out do not grow")
        lab.want(len(times) >= most * total, f"{len(times)} pictures out of {total}")
        return f"{shown_originals} of {total}, {len(times)} out; {same_sound(lab, usual, out, place=0)}"
    return run


def file(make):
    """`burnish enhance` on a recording."""
    def run(lab):
        total, packets = make(lab)
        ts.write(lab.path("sent.ts"), packets)
        wanted = shown(lab.path("sent.ts"))
        code, text = lab.enhance(lab.path("sent.ts"), lab.path("out.mp4"), "--tier", "base", "--quiet")
        got = shown(lab.path("out.mp4"))
        lab.want(code == 0 and got == wanted, f"exit {code}, {got} pictures, FFmpeg shows {wanted}: {text.strip()[-200:]}")
        return f"{got} of {wanted}"
    return run


def once(make):
    def made(lab):
        packets, usual = make(lab)
        return pictures(usual), packets
    return made


def loop(lab):
    packets = ts.read(plain(lab, seconds=3, **SMALL))
    return 2 * pictures(packets), numbered([bytearray(packet) for _ in range(2) for packet in packets])


ROWS = [
    # Haivision/srt #86, #3071
    Row("srt-1456", "SRT: messages of 1,456 bytes, in which packets are cut", HEARD, large_messages),
    # DDVTECH/mistserver #188, bluenviron/gortsplib #632, sipsorcery-org/sipsorcery #364
    Row("rtp-types", "MPEG-TS over RTP with payload types 96 and 35", HEARD, typed(96, 35)),
    # bluenviron/mediamtx #2214, #5242, gtxaspec/raptor #30
    Row("srt-returns", "SRT: a publisher who returns with another size, and with another codec and sound", f"{ALL}, their sizes", returns),
    # obsproject/obs-studio #2990, ossrs/srs #4507
    Row("srt-names", "SRT: stream identifiers of OBS, Larix and others where none is expected", "58 of 60 pictures of each", names),
    # As the rows of the same names.
    Row("stamps-wrap-bypass", "time stamps that wrap, bypassed", "byte for byte", bypassed(once(wrapping))),
    Row("unaligned-bypass", "pictures that begin anywhere in PES packets, bypassed", "byte for byte", bypassed(unaligned)),
    Row("messages-bypass", "messages in PES packets of their own, bypassed", "byte for byte", bypassed(messages_apart)),
    Row("looped-bypass", "a file that is looped, bypassed", "byte for byte", bypassed(loop)),
    Row("stamps-wrap-doubled", "time stamps that wrap, --interpolate 2", HEARD, doubled(wrapping, "--interpolate", 2, most=1.5)),
    Row("stamps-wrap-rate", "time stamps that wrap, --fps 50", HEARD, doubled(wrapping, "--fps", 50, most=1.5)),
    Row("stamps-wrap-file", "time stamps that wrap, burnish enhance", "as many as FFmpeg shows", file(once(wrapping))),
    Row("unaligned-file", "pictures that begin anywhere, burnish enhance", "as many as FFmpeg shows", file(unaligned)),
    Row("looped-file", "a file that is looped, burnish enhance", "as many as FFmpeg shows", file(loop)),
]
