"""Coded pictures on which other servers, players and enlargers failed: parameter sets, fields, cropping, rates. Each row names its source."""
import subprocess

from . import Row, fields, h264, multiplex as ts
from .hunt import ALL, HEVC, SMALL, even, pictures
from .rtp import Call
from .rtp_sender import plain as whole_picture
from .transport import ZERO_DELAY, all_shown, plain, through


def probed(file, entries, *options):
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", *options, "-show_entries", entries, "-of", "csv=p=0", str(file)],
        capture_output=True, text=True)
    return [line.strip(",") for line in done.stdout.split()]


def shown(file):
    """How many pictures FFmpeg shows of a file."""
    found = probed(file, "stream=nb_read_frames", "-count_frames")
    return int(found[0]) if found and found[0].isdigit() else 0


def sizes(file):
    """The sizes of a file's pictures, each once, in their order."""
    return list(dict.fromkeys(probed(file, "frame=width,height")))


def likeness(lab, sent, enlarged=2):
    """PSNR of what came out, made as small as what was sent, beside what FFmpeg shows of that."""
    done = subprocess.run(
        # FFmpeg leaves out a part of the cropping otherwise.
        ["ffmpeg", "-v", "info", "-i", str(lab.path("out.ts")), "-flags", "unaligned", "-i", str(sent), "-lavfi",
         f"[0:v]scale=iw/{enlarged}:ih/{enlarged}:flags=area,settb=1/30,setpts=N[a];[1:v]format=yuv420p,settb=1/30,setpts=N[b];[a][b]psnr",
         "-f", "null", "-"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return float(done.stderr.split("average:")[-1].split()[0]) if "average:" in done.stderr else 0.0


# Cropping

def cropped(*kinds):
    def run(lab):
        found = []
        for name, size, right, *options in kinds:
            path = plain(lab, *options, size=size, seconds=2, sound=False, name="sent.ts")
            packets = ts.read(path)
            report, _ = through(lab, packets)
            all_shown(lab, report, pictures(packets))
            width, height = right
            got = sizes(lab.path("out.ts"))
            lab.want(got == [f"{2 * width},{2 * height}"], f"{name}: {got} of {width}x{height}")
            db = likeness(lab, path)
            lab.want(db > 30, f"{name}: {db:.1f} dB")
            found.append(f"{name} {width}x{height} {db:.0f} dB")
        return "; ".join(found)
    return run


# Rates

def lying_rate(*filters):
    """The headers state another rate than the time stamps: pictures, size and steps are those of the honest stream."""
    def run(lab):
        found = []
        for text in (None, *filters):
            options = [*ZERO_DELAY, "-g", 30] + (["-bsf:v", text] if text else [])
            packets = ts.read(plain(lab, *options, size="640x360", seconds=4))
            report, out = through(lab, packets)
            all_shown(lab, report, pictures(packets))
            even(lab, out)
            found.append(sizes(lab.path("out.ts")))
            lab.want(found[-1] == found[0], f"{text}: {found[-1]} in place of {found[0]}")
        return f"{len(filters)} rates, {found[0][0].replace(',', 'x')}"
    return run


def varying(lab):
    """A phone: 15 to 30 pictures a second."""
    path = lab.path("plain.ts")
    lab.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-t", 8, "-vf", "select='not(mod(n,2))+gt(mod(n,60),29)'",
               "-fps_mode", "vfr", *ZERO_DELAY, "-g", 30, "-f", "mpegts", path)
    packets = ts.read(path)
    report, out = through(lab, packets)
    found = all_shown(lab, report, pictures(packets))
    steps = [[b - a for a, b in zip(times, times[1:])] for times in (ts.stamps(packets), ts.stamps(out))]
    wrong = sum(abs(a - b) > 2 for a, b in zip(*steps))
    lab.want(wrong == 0, f"{wrong} steps are other than they were")
    return found


# Parameter sets and entry points

def from_picture(packets, first):
    """A stream that is joined at one of its pictures."""
    main, place, kept = ts.video(packets), -1, []
    for packet in packets:
        place += ts.pid(packet) == main and ts.starts(packet)
        if ts.pid(packet) != main or place >= first:
            kept.append(packet)
    return kept


def joined_at(lab, packets, first, spare=0):
    """As many pictures come out as FFmpeg shows of the stream from one of its pictures on."""
    kept = from_picture(packets, first)
    ts.write(lab.path("sent.ts"), kept)
    wanted = shown(lab.path("sent.ts"))
    report, out = through(lab, kept)
    got = shown(lab.path("out.ts"))
    lab.want(got >= wanted - spare, f"{got} pictures, FFmpeg shows {wanted} of what was sent")
    hurt = report.get("counters", {}).get("pictures_damaged", 0)
    lab.want(hurt == 0, f"{hurt} count as damaged")
    even(lab, out)
    return f"{got} of {wanted} that FFmpeg shows"


def joined_at_cra(lab):
    """HEVC from a CRA picture (type 21) on, whose leading pictures nobody can decode."""
    packets = ts.read(plain(lab, *HEVC, "-x265-params", "log-level=none:keyint=30:bframes=3:b-adapt=0:scenecut=0:open-gop=1", **SMALL))
    units = [h264.nal_units(body) for _, body in ts.pes(packets, ts.video(packets))]
    entries = [place for place, unit in enumerate(units) if any(each[0] >> 1 & 63 == 21 for each in unit)]
    return joined_at(lab, packets, entries[0])


def without_recovery(lab):
    """H.264 of a broadcaster: no IDR pictures and no recovery points, and the relay comes in the middle."""
    options = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", 30, "-bf", 3, "-x264-params",
               "open-gop=1:b-adapt=0:scenecut=0", "-bsf:v", "filter_units=remove_types=6"]
    packets = ts.read(plain(lab, *options, seconds=10, **SMALL))
    units = [h264.nal_units(body) for _, body in ts.pes(packets, ts.video(packets))]
    sets = [place for place, unit in enumerate(units) if any(h264.kind(each) == h264.SEQUENCE for each in unit)]
    return joined_at(lab, packets, sets[1], spare=3)


def turned(numbers):
    """A phone is turned twice: pictures change from wide to high and back, described by the first size."""
    def run(lab):
        parts, sets = [], None
        for place, size in enumerate(("320x180", "180x320", "320x180")):
            file = lab.path(f"{place}.h264")
            lab.ffmpeg("-f", "lavfi", "-i", f"testsrc2=size={size}:rate=30", "-frames:v", 80, *ZERO_DELAY, "-g", 30, "-x264-params",
                       f"slices=1:sps-id={numbers[place]}", "-bsf:v", "filter_units=remove_types=9", "-f", "h264", file)
            parts += h264.pictures(file.read_bytes())
            sets = sets or h264.parameter_sets(parts)
        call = Call(lab, [whole_picture(picture) for picture in parts], sets=sets).run()
        found = call.want_all()
        got = probed(lab.path("out.ts"), "frame=width,height")
        turns = [a for a, b in zip(got, ["", *got]) if a != b]
        lab.want(turns == ["640,360", "360,640", "640,360"], f"sizes {turns}")
        return f"{found}; {', '.join(turns)}"
    return run


def sets_change(lab):
    """A picture parameter set changes under the same number, and comes once; the description has the first one."""
    parts = []
    for place, quantiser in enumerate((20, 32)):
        file = lab.path(f"{place}.h264")
        lab.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-frames:v", 120, *ZERO_DELAY, "-g", 30, "-qp", quantiser,
                   "-x264-params", "slices=1", "-bsf:v", "filter_units=remove_types=9|6", "-f", "h264", file)
        found = h264.pictures(file.read_bytes())
        parts.append((h264.parameter_sets(found), found))
    lab.want(parts[0][0][1] != parts[1][0][1], "both have the same picture parameter set")
    bare = [h264.without_sets(part) for _, part in parts]
    bare[1][0] = [*parts[1][0], *bare[1][0]]
    lab.path("sent.h264").write_bytes(b"".join(b"\0\0\0\1" + unit for _, part in parts for picture in part for unit in picture))
    call = Call(lab, [whole_picture(picture) for part in bare for picture in part], sets=parts[0][0]).run()
    found = call.want_all()
    db = likeness(lab, lab.path("sent.h264"))
    lab.want(db > 28, f"{db:.1f} dB")
    return f"{found}; {db:.0f} dB"


def filled(lab):
    """A constant rate by filler (NAL units of type 12), and ends of sequences."""
    options = [*ZERO_DELAY, "-g", 30, "-b:v", "4M", "-maxrate", "4M", "-bufsize", "1M", "-x264-params", "nal-hrd=cbr:filler=1"]
    packets = ts.read(plain(lab, *options, **SMALL))
    main, total = ts.video(packets), pictures(packets)
    filler = sum(h264.kind(unit) == 12 for _, body in ts.pes(packets, main) for unit in h264.nal_units(body))
    lab.want(filler > 0, "the input has no filler")
    end = b"\0\0\0\1\x0a"
    packets = ts.repack(packets, main, lambda number, header, body: [
        header[:4] + b"\0\0" + header[6:] + body + (end if number % 30 == 29 else b"")])
    report, out = through(lab, packets)
    even(lab, out)
    return f"{all_shown(lab, report, total, damaged=1)}; {filler} NAL units of filler"


# Fields and slices

def fields_row(form):
    """Frames of two coded fields: `form` makes the PES packets of a frame."""
    def run(lab):
        skeleton = ts.read(plain(lab, *ZERO_DELAY, "-g", 25, size="160x96", rate=25))
        total, main = pictures(skeleton), ts.video(skeleton)
        coded_fields = fields.frames(total)

        def change(number, header, body):
            time = ts.stamp(header, 9)
            return form(*coded_fields[number], *(
                b"\0\0\1\xe0\0\0\x84\x80\5" + ts.stamp_bytes(each, 2) for each in (time, time + 1800)))
        packets = ts.repack(skeleton, main, change)
        ts.write(lab.path("sent.ts"), packets)
        wanted = shown(lab.path("sent.ts"))
        report, out = through(lab, packets)
        lab.want(wanted == total, f"FFmpeg shows {wanted} of {total} of the input")
        even(lab, out, rate=25)
        found = all_shown(lab, report, total, damaged=1)
        db = likeness(lab, lab.path("sent.ts"))
        lab.want(db > 25, f"{db:.1f} dB")
        return f"{found}; {db:.0f} dB"
    return run


BARE = b"\0\0\1\xe0\0\0\x80\0\0"


def sliced(lab):
    """HEVC in several slices a picture."""
    options = [*HEVC, "-x265-params", "log-level=none:slices=3:keyint=30:bframes=0"]
    packets = ts.read(plain(lab, *options, size="640x384"))
    _, body = ts.pes(packets, ts.video(packets))[5]
    slices = sum(unit[0] >> 1 & 63 < 32 for unit in h264.nal_units(body))
    lab.want(slices > 1, f"{slices} slice a picture")
    report, out = through(lab, packets)
    even(lab, out)
    return f"{all_shown(lab, report, pictures(packets))}; {slices} slices"


def separate_fields(lab):
    """HEVC with a picture for each field, as ARIB's and some encoders' interlaced streams."""
    packets = ts.read(plain(lab, *HEVC, "-x265-params", "log-level=none:interlace=tff:keyint=30:bframes=0", size="320x192"))
    ts.write(lab.path("sent.ts"), packets)
    wanted = shown(lab.path("sent.ts"))
    report, out = through(lab, packets)
    got = shown(lab.path("out.ts"))
    lab.want(got >= wanted, f"{got} pictures, FFmpeg shows {wanted}")
    return f"{got} of {wanted} that FFmpeg shows; {sizes(lab.path('sent.ts'))} to {sizes(lab.path('out.ts'))}"


CROP = "h264_metadata=crop_left=16:crop_right=16:crop_top=8:crop_bottom=8"
QUIET = "-x265-params", "log-level=none:bframes=0"
ROWS = [
    # TigerVNC/tigervnc #1480, ossrs/srs #1421, GPUOpen-LibrariesAndSDKs/AMF #154, chemag/h264nal #7
    Row("cropping", "cropping on all sides, odd sizes: H.264, HEVC", "cropped, over 30 dB beside FFmpeg", cropped(
        ("four sides", "352x208", (320, 192), *ZERO_DELAY, "-bsf:v", CROP),
        ("even", "426x240", (426, 240), *ZERO_DELAY), ("large", "854x482", (854, 482), *ZERO_DELAY),
        ("4:4:4", "428x242", (427, 241), "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv444p",
         "-bsf:v", "h264_metadata=crop_right=5:crop_bottom=15"),
        ("4:2:2, 10 bits", "426x240", (426, 240), "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv422p10le"),
        ("grey", "320x180", (320, 180), "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "gray"),
        ("HEVC", "426x240", (422, 228), *HEVC, *QUIET, "-bsf:v", "hevc_metadata=crop_left=8:crop_right=2:crop_top=4:crop_bottom=8"))),
    # waveform80/picamera #541, ngraziano/SharpRTSP #39, OpenVisualCloud/SVT-HEVC #107
    Row("rates-stated", "headers that state 500, 1 or 0.04 pictures a second", "as without", lying_rate(
        "h264_metadata=tick_rate=1000:fixed_frame_rate_flag=1", "h264_metadata=tick_rate=2", "h264_metadata=tick_rate=2/25")),
    # webstream-labs/jmuxer #118, giongto35/cloud-game #211
    Row("rates-vary", "a phone's 15 to 30 pictures a second", f"{ALL}, each step as it was", varying),
    # rerun-io/rerun #12818, strukturag/libde265 #131
    Row("joined-at-cra", "HEVC that is joined at a CRA picture with leading pictures", "as many as FFmpeg shows", joined_at_cra),
    # raspberrypi/firmware #375, google/ExoPlayer #982
    Row("joined-without-recovery", "H.264 without IDR pictures and recovery points, joined in the middle", "as many as FFmpeg shows",
        without_recovery),
    # webstream-labs/jmuxer #47, IENT/YUView #411, gtxaspec/raptor #30
    Row("turned", "RTP: a phone that is turned twice, described by its first size", f"{ALL}, its sizes", turned((0, 0, 0))),
    # cisco/openh264 #3055
    Row("turned-numbers", "the same with new numbers of parameter sets each time", f"{ALL}, its sizes", turned((0, 3, 7))),
    # mbunkus/mkvtoolnix #1711, ireader/media-server #68
    Row("sets-change", "RTP: a picture parameter set that changes once, the description has the first", f"{ALL}, 28 dB", sets_change),
    # membraneframework/membrane_h26x_plugin #30, #73
    Row("filler", "filler for a constant rate, ends of sequences", ALL, filled),
    # FFMS/ffms2 #83, #408; Intel-Media-SDK/MediaSDK #1658
    Row("fields-stamped", "fields in PES packets of their own, half an interval apart", ALL, fields_row(
        lambda first, second, now, later: [now + first, later + second])),
    Row("fields-same", "the same, both with one time stamp", ALL, fields_row(lambda first, second, now, later: [now + first, now + second])),
    Row("fields-bare", "the same, the second without a time stamp", ALL, fields_row(
        lambda first, second, now, later: [now + first, BARE + second])),
    Row("fields-together", "both fields in one PES packet", ALL, fields_row(lambda first, second, now, later: [now + first + second])),
    # shaka-project/shaka-packager #1608
    Row("hevc-slices", "HEVC in three slices a picture", ALL, sliced),
    # MediaArea/MediaInfoLib #2637, axiomatic-systems/Bento4 #270
    Row("hevc-fields", "HEVC with a picture for each field", "as many as FFmpeg shows", separate_fields),
]
