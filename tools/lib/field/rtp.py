"""Plain RTP as cameras, encoders and servers send it: markers, payloads, parameter sets, reports, order."""
import subprocess

from ports import free_ports
from . import Row, h264
from .rtp_sender import (
    Payload, Sender, aggregate, fragments, opus_packets, payloads, plain, vp8_frames, vp8_payloads)

PICTURES = 240
TESTSRC = ("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30")
X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p")


def coded(lab, *options, count=PICTURES):
    """Pictures of H.264 by x264, without B-frames unless the options say otherwise."""
    file = lab.path("pictures.h264")
    lab.ffmpeg(*TESTSRC, "-frames:v", count, *X264, *(options or ("-tune", "zerolatency", "-g", 30, "-x264-params", "slices=1")),
               "-bsf:v", "filter_units=remove_types=9", "-f", "h264", file)
    return h264.pictures(file.read_bytes())


def sound(lab, seconds):
    file = lab.path("sound.ogg")
    lab.ffmpeg("-f", "lavfi", "-i", f"sine=frequency=440:sample_rate=48000:duration={seconds}", "-c:a", "libopus", file)
    return opus_packets(file.read_bytes())


class Call:
    """A sender, a relay behind it, and what came out."""

    def __init__(self, lab, pictures, *options, first=0, **keys):
        self.lab = lab
        # What a busy machine drops as late is no fault of these rows.
        self.options = ("--tier", "base", *(() if "--budget" in options else ("--budget", "1s")), *options)
        self.first = first
        port = free_ports(2)
        self.sender = Sender(port, pictures, **keys)
        lab.path("in.sdp").write_text(self.sender.description)

    def run(self, **keys):
        relay = self.lab.relay(self.lab.path("in.sdp"), self.lab.path("out.ts"), *self.options)
        relay.wait_for("listening")
        self.sender.run(self.first, **keys)
        try:
            relay.wait_for("goodbye", 5)
        except RuntimeError:
            pass  # The report shows what is missing.
        relay.stop()
        self.text = relay.text()
        self.report = self.lab.report()
        self.frames = self.report["frames"]
        self.counters = self.report.get("counters", {})
        return self

    @property
    def damaged(self):
        return self.counters.get("pictures_damaged", 0) + self.counters.get("input_units_torn", 0)

    def want_all(self, count=PICTURES, bypassed=False):
        """Each picture came out once, and none of them damaged."""
        out = self.frames["bypassed" if bypassed else "emitted"]
        self.lab.want(self.frames["originals"] == count, f"{self.frames['originals']} pictures in, {count} sent")
        self.lab.want(out == count, f"{out} of {count} {'bypassed' if bypassed else 'enhanced'}")
        self.lab.want(self.damaged == 0, f"{self.damaged} damaged")
        decoded = self.lab.count(self.lab.path("out.ts"))
        self.lab.want(decoded == count, f"{decoded} pictures in the output")
        return f"{out} of {count}, {self.damaged} damaged, {self.sender.video.requests} requests"

    def want_few_requests(self):
        self.lab.want(self.sender.video.requests <= 2, f"asked for {self.sender.video.requests} keyframes")

    def lines(self, text):
        return sum(text in line for line in self.text.splitlines())


# MARK: Markers

def marked(picture, is_marked):
    """Packets of a picture, of which the last ones of some NAL units are marked."""
    found = []
    for unit in picture:
        each = [Payload(part) for part in payloads(unit)]
        each[-1].marked = is_marked(h264.kind(unit))
        found += each
    return found


def each_unit(picture):
    return marked(picture, lambda kind: True)


def each_slice(picture):
    return marked(picture, lambda kind: kind in (h264.SLICE, h264.REFRESH))


def never(picture):
    return marked(picture, lambda kind: False)


def sets_of_their_own(picture):
    """The sets have the stamp of the picture before, and the first one a marker."""
    found = plain(picture)
    for packet in found:
        kind = packet.bytes[0] & 31
        packet.early = kind in (h264.SEQUENCE, h264.PICTURE)
        packet.marked = packet.marked or kind == h264.SEQUENCE
    return found


def marker_row(packets, slices, *options):
    def run(lab):
        pictures = coded(lab, "-tune", "zerolatency", "-g", 30, "-x264-params", f"slices={slices}")
        call = Call(lab, [packets(picture) for picture in pictures], *options).run()
        return call.want_all(bypassed="bypass" in options)
    return run


def vp8_marker_row(lab):
    file = lab.path("pictures.ivf")
    lab.ffmpeg(*TESTSRC, "-frames:v", PICTURES, "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", 8, "-b:v", "2M", "-g", 30,
               "-lag-in-frames", 0, "-auto-alt-ref", 0, file)
    pictures = [vp8_payloads(frame) for frame in vp8_frames(file.read_bytes())]
    for packet in (packet for picture in pictures for packet in picture):
        packet.marked = True
    return Call(lab, pictures, encoding="VP8").run().want_all()


# MARK: Payloads

def with_start_codes(picture):
    found = []
    for unit in picture:
        unit = b"\0\0\0\1" + unit
        found += [Payload(part) for part in ([unit] if len(unit) <= 1188 else fragments(unit, 1188))]
    found[-1].marked = True
    return found


def in_one_unit(picture):
    """A keyframe is one "parameter set" with start codes in it."""
    return plain([b"\0\0\0\1".join(picture)] if any(h264.kind(unit) == h264.SEQUENCE for unit in picture) else picture)


def padded_aggregation(picture):
    small = [unit for unit in picture if h264.kind(unit) in (h264.MESSAGE, h264.SEQUENCE, h264.PICTURE)]
    found = plain([unit for unit in picture if unit not in small])
    return [Payload(aggregate(small) + bytes(6))] * bool(small) + found


def with_strays(picture):
    """Reserved types and empty fragments between the packets, and a marked one behind them."""
    found = plain(picture)
    found[-1].marked = False
    strays = [Payload(b"\x00\x01\x02"), Payload(b"\x7e\x09"), Payload(b"\x7f"), Payload(b"\x7c\x00")]
    return found[:1] + strays + found[1:] + [Payload(b"\x7c\x40", marked=True)]


def payload_row(packets, strays=False):
    def run(lab):
        call = Call(lab, [packets(picture) for picture in coded(lab)]).run()
        found = call.want_all()
        call.want_few_requests()
        skipped = call.counters.get("input_packets_broken", 0)
        lab.want((skipped > 0) == strays, f"{skipped} packets with bytes that belong to nothing")
        return found
    return run


def torn_row(lab):
    """A NAL unit that is cut off is the only thing that damages."""
    pictures = [plain(picture) for picture in coded(lab)]
    cut = next(index for index in range(45, 60) if len(pictures[index]) > 1)
    del pictures[cut][-1]
    pictures[cut][-1].marked = True
    call = Call(lab, pictures).run()
    lab.want(call.counters.get("input_units_torn", 0) == 1, f"{call.counters.get('input_units_torn', 0)} torn")
    lab.want(call.damaged > 1, "the pictures behind it are not damaged")
    return f"{call.frames['emitted']} of {PICTURES}, {call.counters.get('input_units_torn', 0)} torn"


# MARK: Parameter sets

REFRESHING = ("-tune", "zerolatency", "-x264-params", "slices=1:intra-refresh=1:keyint=40")


def later(lab, with_description):
    """The relay comes when the first picture, which alone is an IDR picture, is over."""
    pictures = coded(lab, *REFRESHING, count=300)
    sets = h264.parameter_sets(pictures) if with_description else ()
    return Call(lab, [plain(picture) for picture in h264.without_sets(pictures)], first=32, sets=sets)


def gradual_refresh_row(lab):
    call = later(lab, True).run()
    out = call.frames["emitted"] + call.frames["bypassed"]
    lab.want(out >= 228, f"{out} of 268 came out")
    lab.want(call.lines("go out as they come") == 0, "a line says that pictures go out as they come")
    return f"{out} of 268"


def no_sets_row(lab):
    call = later(lab, False).run()
    lab.want(call.lines("SPS, PPS") == 1, f"{call.lines('SPS, PPS')} lines name what is missing")
    lab.want(call.lines("go out as they come:") <= 1 and call.lines("enhanced again") == 0, "lines that are not true")
    return f"{call.lines('SPS, PPS')} line"


# MARK: Reports

def report_row(error):
    def run(lab):
        packets = sound(lab, 8)
        call = Call(lab, [plain(picture) for picture in coded(lab)], sound=packets)
        call.sender.report_error = error
        call.run()
        found = call.want_all()
        out = lab.count(lab.path("out.ts"), "a")
        lab.want(out == len(packets), f"{out} of {len(packets)} packets of sound")
        lab.want(call.lines("sender reports put") == 1, f"{call.lines('sender reports put')} lines name the track")
        # Both are sent for eight seconds.
        apart = abs(end_of(lab.path("out.ts"), "v") - end_of(lab.path("out.ts"), "a"))
        lab.want(apart < 0.3, f"sound and pictures end {apart:.2f} s apart")
        return f"{found}; {out} of {len(packets)} packets of sound, {apart * 1000:.0f} ms apart"
    return run


def probed(file, *options):
    """What ffprobe says of a file, a line each."""
    done = subprocess.run(
        ["ffprobe", "-v", "error", *options, "-of", "csv=p=0", str(file)], capture_output=True, text=True, check=True)
    return [line.strip(",") for line in done.stdout.split()]


def times_of(file, kind, entry="packet=pts_time"):
    return probed(file, "-select_streams", kind, "-show_entries", entry)


def end_of(file, kind):
    """When a file's last packet of a kind is shown, in seconds."""
    return max((float(time) for time in times_of(file, kind)), default=0.0)


# MARK: Order and sources

def reordered_row(*options):
    def run(lab):
        file = lab.path("pictures.mp4")
        lab.ffmpeg(*TESTSRC, "-frames:v", PICTURES, *X264, "-bf", 3, "-g", 30,
                   "-x264-params", "slices=1:b-pyramid=none:b-adapt=0:scenecut=0", file)
        lab.ffmpeg("-i", file, "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-f", "h264", lab.path("pictures.h264"))
        pictures = h264.pictures(lab.path("pictures.h264").read_bytes())
        # The least budget in which pictures are in time that do not wait for others.
        call = Call(lab, [plain(picture) for picture in pictures], "--budget", "60ms", *options)
        call.sender.shown = shown_places(file)
        call.run()
        late = call.frames.get("originals_dropped_by_reason", {}).get("late", 0)
        lab.want(late == 0, f"{late} late")
        found = call.want_all(bypassed="bypass" in options)
        times = sorted(float(time) for time in times_of(lab.path("out.ts"), "v"))
        uneven = sum(abs(after - before - 1 / 30) > 0.002 for before, after in zip(times, times[1:]))
        lab.want(uneven == 0, f"{uneven} pictures are shown at wrong times")
        return found
    return run


def shown_places(file):
    """The place of each coded picture in the order in which pictures are shown."""
    stamps = [int(stamp) for stamp in times_of(file, "v", "packet=pts")]
    places = {stamp: place for place, stamp in enumerate(sorted(stamps))}
    return [places[stamp] for stamp in stamps]


def new_source_row(lab):
    call = Call(lab, [plain(picture) for picture in coded(lab)])
    call.sender.renews_at = 120
    call.run()
    lab.want(call.lines("another source sends") == 0, "a line says that another source sends beside the first one")
    return call.want_all()


def numbers_row(lab):
    call = Call(lab, [plain(picture) for picture in coded(lab)])
    call.sender.counts_anew_at = 120
    return call.run().want_all()


# MARK: Headers, stamps and descriptions

def headers_row(lab):
    packets = sound(lab, 8)
    call = Call(lab, [plain(picture) for picture in coded(lab)], sound=packets)
    call.sender.video.is_adorned = call.sender.audio.is_adorned = True
    found = call.run().want_all()
    out = lab.count(lab.path("out.ts"), "a")
    lab.want(out == len(packets), f"{out} of {len(packets)} packets of sound")
    return found


def stray_stamp_row(lab):
    packets = sound(lab, 8)
    call = Call(lab, [plain(picture) for picture in coded(lab)], sound=packets)
    call.sender.stray = 100
    call.run()
    out = lab.count(lab.path("out.ts"), "a")
    lab.want(call.frames["emitted"] >= PICTURES - 1, f"{call.frames['emitted']} of {PICTURES}")
    lab.want(out >= len(packets) - 1, f"{out} of {len(packets)} packets of sound")
    return f"{call.frames['emitted']} of {PICTURES}, {out} of {len(packets)} packets of sound"


def resting_sound_row(lab):
    """The sound's time stamps do not count the rest, so it comes 3 s early from then on, unless the arrival is looked at."""
    packets = sound(lab, 9)
    call = Call(lab, [plain(picture) for picture in coded(lab, count=390)], sound=packets)
    call.sender.rests_at = 150
    call.run(reports=False)
    apart = end_of(lab.path("out.ts"), "v") - end_of(lab.path("out.ts"), "a")
    # The pictures end a second behind the sound.
    lab.want(abs(apart - 1) < 0.2, f"the sound ends {apart:.2f} s before the pictures, not 1 s")
    return f"{apart:.2f} s before the pictures' end"


def description_row(sets):
    def run(lab):
        call = Call(lab, [plain(picture) for picture in coded(lab)], sets=sets(lab))
        found = call.run().want_all()
        lab.want(call.lines("1280x") == 0, "a line names a size that no picture has")
        return found
    return run


def sets_of_another_size(lab):
    file = lab.path("other.h264")
    lab.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30", "-frames:v", 1, *X264, "-f", "h264", file)
    return h264.parameter_sets(h264.pictures(file.read_bytes()))


ALL = "240 enhanced, 0 damaged"
ROWS = [
    Row("marker-unit", "RTP: a marker on each NAL unit, one slice", ALL, marker_row(each_unit, 1)),
    Row("marker-unit-slices", "RTP: a marker on each NAL unit, two slices", ALL, marker_row(each_unit, 2)),
    Row("marker-slice", "RTP: a marker on each slice, two slices", ALL, marker_row(each_slice, 2)),
    Row("marker-slice-bypass", "the same, bypassed", "240 bypassed, 0 damaged",
        marker_row(each_slice, 2, "--mode", "bypass")),
    Row("marker-none", "RTP: no marker", ALL, marker_row(never, 2)),
    Row("marker-sets", "RTP: parameter sets with a marker, and the stamp of the picture before", ALL,
        marker_row(sets_of_their_own, 1)),
    Row("marker-vp8", "RTP: VP8, a marker on each packet", ALL, vp8_marker_row),
    Row("payload-start-codes", "RTP: NAL units with start codes of their own", ALL, payload_row(with_start_codes)),
    Row("payload-one-unit", "RTP: a keyframe as one parameter set with start codes in it", ALL, payload_row(in_one_unit)),
    Row("payload-zeros", "RTP: zeros behind an aggregation", f"{ALL}, at most 2 requests, counted",
        payload_row(padded_aggregation, strays=True)),
    Row("payload-strays", "RTP: reserved types, empty fragments", f"{ALL}, at most 2 requests, counted",
        payload_row(with_strays, strays=True)),
    Row("payload-torn", "RTP: a NAL unit that is cut off", "1 torn", torn_row),
    Row("sets-described", "RTP: gradual refresh, sets in the description alone, the relay comes later", "at least 228 of 268",
        gradual_refresh_row),
    Row("sets-missing", "the same without sets", "one line names them", no_sets_row),
    Row("reports-12", "RTP: sender reports 12 s apart", "all sound, one line", report_row(12)),
    Row("reports-30", "RTP: sender reports 30 s apart", "all sound, one line", report_row(30)),
    Row("reports-stale", "RTP: sender reports that are 3 s old", "all sound beside its picture, one line", report_row(-3)),
    Row("order-b-frames", "RTP: B-frames", f"{ALL}, none late", reordered_row()),
    Row("order-b-frames-bypass", "the same, bypassed", "240 bypassed, in their order", reordered_row("--mode", "bypass")),
    Row("order-numbers-anew", "RTP: packet numbers that begin anew", ALL, numbers_row),
    Row("headers", "RTP: padding, contributing sources, ONVIF's extension, each packet twice", f"{ALL}, all sound", headers_row),
    Row("stamp-stray", "RTP: one picture and one packet of sound with a time stamp of 0", "all but one", stray_stamp_row),
    Row("stamp-rest", "RTP: sound that rests for 3 s and does not count them, no reports", "beside its picture", resting_sound_row),
    Row("sets-old", "RTP: a description with the parameter sets of another size", ALL, description_row(sets_of_another_size)),
    Row("sets-empty", "RTP: a description with an empty parameter set", ALL, description_row(lambda lab: (b"",))),
    Row("source-new", "RTP: another source from the same port", ALL, new_source_row),
]
