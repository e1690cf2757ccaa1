"""Plain RTP on which other servers and players failed: what lies between packets, clocks, descriptions. Each row names its source."""
import os, random, struct

from . import Row, h264
from .h264 import kind
from .rtp import ALL, X264, Call, coded, end_of, sound, times_of
from .rtp_sender import Payload, fragments, plain


def packet(track, payload, ticks, marked=False, padding=0, type=None):
    """Sends a packet as a track does, with padding or another payload type."""
    head = struct.pack(
        ">BBHII", 0xA0 if padding else 0x80, marked << 7 | (type or track.payload_type), track.number & 0xFFFF,
        track.timestamp + ticks & 0xFFFFFFFF, track.source)
    track.data.sendto(head + payload + (bytes(padding - 1) + bytes([padding]) if padding else b""), ("127.0.0.1", track.port))
    track.number += 1


def behind(track, more):
    """Has `more` done behind each packet of a track, with the track, the ticks and the mark."""
    send, count = track.send, [0]

    def both(payload, ticks, marked):
        send(payload, ticks, marked)
        count[0] += 1
        more(track, ticks, marked, count[0])
    track.send = both


def payload_row(packets):
    def run(lab):
        call = Call(lab, [packets(picture) for picture in coded(lab)]).run()
        call.want_few_requests()
        return call.want_all()
    return run


def between_row(more, about=""):
    """Something comes between a sender's packets, with numbers of their row."""
    def run(lab):
        call = Call(lab, [plain(picture) for picture in coded(lab)])
        behind(call.sender.video, more)
        if about:
            text = call.sender.description.replace("RTP/AVPF 96", "RTP/AVPF 96 127") + about
            lab.path("in.sdp").write_text(text)
        call.run()
        call.want_few_requests()
        return call.want_all()
    return run


def probes(track, ticks, marked, count):
    """A browser probes its path with padding alone, behind a picture and with its time stamp."""
    if marked:
        for _ in range(3):
            packet(track, b"", ticks, padding=224)


def protection(track, ticks, marked, count):
    """Redundancy (ULPFEC) has the pictures' source and numbers, and a payload type of its own."""
    if count % 5 == 0:
        packet(track, bytes([0x00, 0x00]) + os.urandom(200), ticks, type=127)


def one_fragment(picture):
    """NAL units that fit into a packet come as a fragment that begins and ends there."""
    found = []
    for unit in picture:
        if len(unit) <= 1186:
            found.append(Payload(bytes([unit[0] & 0xE0 | 28, 0xC0 | unit[0] & 31]) + unit[1:]))
        else:
            found += [Payload(part) for part in fragments(unit, 1188)]
    found[-1].marked = True
    return found


def delimited(picture):
    """Delimiters of two bytes in packets of their own."""
    return plain([b"\x09\xf0", *picture])


def filled(picture):
    """Filler before a picture's slices, although it should stand behind them, and behind it."""
    filler = b"\x0c" + b"\xff" * 400 + b"\x80"
    first = next(place for place, unit in enumerate(picture) if kind(unit) in (h264.SLICE, h264.REFRESH))
    return plain([*picture[:first], filler, *picture[first:], filler])


def message_marked(picture):
    """A message (SEI) with a marker of its own, and then its picture (DJI's drones)."""
    message = Payload(b"\x06\x05\x60" + bytes(range(16, 32)) + b"\x55" * 80 + b"\x80", marked=True)
    return [message, *plain(picture)]


def layered(picture):
    """Scalable video: a prefix (type 14) before each slice, and the enlarging layer's slice (type 20) behind it."""
    found = []
    for unit in picture:
        if kind(unit) in (h264.SLICE, h264.REFRESH):
            refresh = 0x40 * (kind(unit) == h264.REFRESH)
            found += [bytes([0x6E, 0xC0, 0x80, 0x07]), unit, bytes([0x74, 0x80 | refresh, 0x80, 0x17]) + unit[1:]]
        else:
            found.append(unit)
    return plain(found)


def sequences_ended(lab):
    """The end of the sequence (type 10) stands behind each picture that a keyframe follows."""
    units = coded(lab)
    call = Call(lab, [plain([*picture, b"\x0a"] if place % 30 == 29 else picture) for place, picture in enumerate(units)]).run()
    call.want_few_requests()
    return call.want_all()


def large(lab):
    """Keyframes of a megabyte, whose packets come at once."""
    noise = lab.path("noise.png")
    lab.ffmpeg("-f", "lavfi", "-i", "nullsrc=size=1280x720,geq=lum='random(1)*255':cb=128:cr=128", "-frames:v", 1, noise)
    file = lab.path("pictures.h264")
    lab.ffmpeg("-loop", 1, "-framerate", 30, "-i", noise, "-frames:v", 120, *X264, "-tune", "zerolatency", "-g", 30, "-qp", 12,
               "-x264-params", "slices=1", "-bsf:v", "filter_units=remove_types=9", "-f", "h264", file)
    pictures = h264.pictures(file.read_bytes())
    size = max(sum(map(len, picture)) for picture in pictures)
    lab.want(size > 800_000, f"the largest picture has {size} bytes")
    call = Call(lab, [plain(picture) for picture in pictures], "--scale", 1).run()
    return f"{call.want_all(120)}; largest picture {size} bytes"


def overtaken(lab):
    """Each third packet comes five packets later, or behind its picture."""
    call = Call(lab, [plain(picture) for picture in coded(lab)])
    track, waiting, count = call.sender.video, [], [0]
    sendto = track.data.sendto

    class Swapping:
        def __getattr__(self, name):
            return getattr(data, name)

        def sendto(self, datagram, address):
            count[0] += 1
            if count[0] % 3 == 0:
                waiting.append((count[0] + 5, datagram))
                return
            sendto(datagram, address)
            while waiting and waiting[0][0] <= count[0]:
                sendto(waiting.pop(0)[1], address)
    data, track.data = track.data, Swapping()
    listen = track.listen

    def flush():
        while waiting:
            sendto(waiting.pop(0)[1], ("127.0.0.1", track.port))
        listen()
    track.listen = flush
    call.run()
    return call.want_all()


# Sources and clocks

def type_changes(lab):
    """The sender goes over to another payload type of the description, as a server that switches between two sources."""
    call = Call(lab, [plain(picture) for picture in coded(lab)])
    text = call.sender.description.replace("RTP/AVPF 96", "RTP/AVPF 96 98")
    lab.path("in.sdp").write_text(text + "a=rtpmap:98 H264/90000\na=fmtp:98 packetization-mode=1\n")

    def more(track, ticks, marked, count):
        pictures[0] += marked
        if pictures[0] == 120:
            track.payload_type = 98
    pictures = [0]
    behind(call.sender.video, more)
    call.run()
    return call.want_all()


def wraps(lab):
    """Time stamps and numbers wrap in the middle of pictures."""
    packets = sound(lab, 8)
    call = Call(lab, [plain(picture) for picture in coded(lab)], sound=packets)
    call.sender.video.timestamp, call.sender.video.number = (1 << 32) - 3 * 90000 - 1500, 65536 - 150
    call.sender.audio.timestamp, call.sender.audio.number = (1 << 32) - 5 * 48000 - 100, 65536 - 200
    call.run()
    found = call.want_all()
    return f"{found}; {all_sound(lab, packets)}"


def all_sound(lab, packets, spare=0):
    out = lab.count(lab.path("out.ts"), "a")
    lab.want(out >= len(packets) - spare, f"{out} of {len(packets)} packets of sound")
    return f"{out} of {len(packets)} packets of sound"


def even(lab, most=0.004, rate=30):
    times = sorted(map(float, times_of(lab.path("out.ts"), "v")))
    steps = [b - a for a, b in zip(times, times[1:])]
    uneven = [step for step in steps if abs(step - 1 / rate) > most]
    lab.want(not uneven, f"{len(uneven)} uneven steps, up to {max(uneven, default=0) * 1000:.0f} ms")
    return f"steps of {min(steps) * 1000:.0f} to {max(steps) * 1000:.0f} ms"


def reports_wander(lab):
    """A camera whose reports say when a packet left, while pictures wait for up to half a second before: each puts the clock elsewhere."""
    packets, random_numbers = sound(lab, 8), random.Random(1)
    call = Call(lab, [plain(picture) for picture in coded(lab)], sound=packets)
    report = call.sender.video.report
    call.sender.video.report = lambda ticks, wall: report(ticks, wall + random_numbers.uniform(0, 0.5))
    call.run()
    found = call.want_all()
    apart = abs(end_of(lab.path("out.ts"), "v") - end_of(lab.path("out.ts"), "a"))
    lab.want(apart < 0.6, f"sound and pictures end {apart:.2f} s apart")
    return f"{found}; {all_sound(lab, packets)}; {even(lab)}; {apart:.2f} s apart"


def stalls(lab):
    """The encoder's packets of two seconds come at once at the end of those two seconds."""
    packets = sound(lab, 8)
    call = Call(lab, [plain(picture) for picture in coded(lab)], sound=packets)
    call.sender.late = lambda index: (120 - index) / 30 if 60 <= index < 120 else 0.0
    call.run()
    found = call.want_all()
    return f"{found}; {all_sound(lab, packets)}; {even(lab)}"


def sound_jitters(lab):
    """A camera whose sound's time stamps follow its clock, not its samples: steps of 953 to 967."""
    packets, random_numbers = sound(lab, 8), random.Random(1)
    call = Call(lab, [plain(picture) for picture in coded(lab)], sound=packets)
    send = call.sender.audio.send
    call.sender.audio.send = lambda payload, ticks, marked: send(payload, ticks + random_numbers.randint(-7, 7), marked)
    call.run()
    found = call.want_all()
    return f"{found}; {all_sound(lab, packets)}"


def sound_rests(lab):
    """A muted microphone: no packet of sound for 3 s, and then time stamps that have counted them."""
    packets = sound(lab, 9)
    call = Call(lab, [plain(picture) for picture in coded(lab, count=390)], sound=packets)
    call.sender.rests_at = 150
    send = call.sender.audio.send
    call.sender.audio.send = lambda payload, ticks, marked: send(payload, ticks + 3 * 48000 * (ticks >= 150 * 960), marked)
    call.run()
    found = call.want_all(390)
    apart = end_of(lab.path("out.ts"), "v") - end_of(lab.path("out.ts"), "a")
    # The pictures end a second behind the sound.
    lab.want(abs(apart - 1) < 0.2, f"the sound ends {apart:.2f} s before the pictures, not 1 s")
    return f"{found}; {all_sound(lab, packets)}; {even(lab)}"


def sound_first(lab):
    """The pictures begin 5 s after the sound."""
    packets = sound(lab, 13)
    call = Call(lab, [plain(picture) for picture in coded(lab)], sound=packets)
    call.sender.begins_at = 5.0
    call.run()
    found = call.want_all()
    begins = [float(times_of(lab.path("out.ts"), each)[0]) for each in "va"]
    lab.want(abs(begins[0] - begins[1] - 5) < 0.1, f"the pictures begin {begins[0] - begins[1]:.2f} s after the sound")
    return f"{found}; {all_sound(lab, packets, 1)}; {begins[0] - begins[1]:.2f} s after the sound"


# Descriptions

def with_line(old, new):
    return lambda text: text.replace(old, new)


FORMS = [  # what cameras and servers write, and who could not read it
    # tschiemer/aes67 #2
    ("spaces at ends of lines", lambda text: text.replace("\n", " \n")),
    # sdroege/sdp-types #7
    ("tabs behind formats", with_line("RTP/AVPF 96", "RTP/AVPF 96\t ")),
    # sony/nmos-cpp #44
    ("two spaces before parameters", with_line("fmtp:96 ", "fmtp:96  ")),
    ("two spaces before the format", with_line("rtpmap:96 ", "rtpmap:96  ")),
    # scottlamb/retina #26, #33
    ("no time, attributes before it, e=NONE", with_line("t=0 0\n", "e=NONE\na=tool:LIVE555 v2011.05.25\n")),
    # alexeyvasilyev/rtsp-client-android #90
    ("a section without sound", lambda text: text + (
        "m=audio 0 RTP/AVP (null)\nc=IN IP4 0.0.0.0\nb=AS:64\na=rtpmap\na=control:track=2\n")),
    # pixelbender/go-sdp #5
    ("formats that are none", lambda text: text + "m=application/tp-link 0 RTP/AVP smart/0/25000\na=rtpmap:95 tp-link/25000\n"),
    # sipwise/rtpengine #2122
    ("a payload type beyond 127", lambda text: text + "m=video 0 RTP/AVP 255\nc=IN IP4 127.0.0.1\n"),
    # AxisCommunications/media-stream-library-js #122
    ("static types without rtpmap", lambda text: text + "m=audio 40000 RTP/AVP 0 8\nb=AS:64\n"),
    # DDVTECH/mistserver #188
    ("payload type 35", with_line("96", "35")),
    ("names in lower case, lines that end in CR LF", lambda text: text.replace("H264", "h264").replace("\n", "\r\n")),
    ("an origin with other words, no session's name", with_line(
        "o=- 1 1 IN IP4 127.0.0.1\ns=-\n", "o=RTSP Session 1 1 IN IP4 127.0.0.1\ns=\n")),
    ("a mark of byte order", lambda text: "\ufeff" + text),
]


def forms(lab):
    pictures = coded(lab, count=60)
    good = 0
    for name, change in FORMS:
        call = Call(lab, [plain(picture) for picture in pictures])
        if "35" in name:
            call.sender.video.payload_type = 35
        lab.path("in.sdp").write_bytes(change(call.sender.description).encode())
        before = len(lab.faults)
        try:
            call.run()
            call.want_all(60)
        except RuntimeError as error:
            lab.faults.append(str(error).splitlines()[-1][:200])
        lab.faults[before:] = [f"{name}: {fault}" for fault in lab.faults[before:]]
        good += len(lab.faults) == before
    return f"{good} of {len(FORMS)} descriptions"


ROWS = [
    # webrtc-rs/webrtc #303, versatica/mediasoup #793, paullouisageneau/libdatachannel #1140
    Row("rtp-probes", "RTP: three packets of padding alone behind each picture", f"{ALL}, at most 2 requests", between_row(probes)),
    # w3c/webrtc-stats #762, webrtc-rs/webrtc #847
    Row("rtp-protection", "RTP: redundancy with the pictures' numbers and a payload type of its own", f"{ALL}, at most 2 requests",
        between_row(protection, "a=rtpmap:127 ulpfec/90000\n")),
    # ossrs/srs #4243, OpenIPC/smolrtsp #14
    Row("rtp-one-fragment", "RTP: NAL units in one fragment that begins and ends them", ALL, payload_row(one_fragment)),
    # webrtc-rs/webrtc #164, ultravideo/uvgRTP #85
    Row("rtp-delimiters", "RTP: delimiters of two bytes in packets of their own", ALL, payload_row(delimited)),
    # membraneframework/membrane_h26x_plugin #73
    Row("rtp-filler", "RTP: filler before a picture's slices and behind them", ALL, payload_row(filled)),
    # bluenviron/mediamtx #6051, #6243
    Row("rtp-message", "RTP: a message (SEI) with a marker of its own before each picture", ALL, payload_row(message_marked)),
    # membraneframework/membrane_h26x_plugin #29, #30
    Row("rtp-sequence-end", "RTP: the end of the sequence before each keyframe", ALL, sequences_ended),
    # intel/libyami #660, versatica/mediasoup #1356
    Row("rtp-layers", "RTP: scalable video, with prefixes and slices of a second layer", ALL, payload_row(layered)),
    # ultravideo/uvgRTP #88, Mi-Bee-Studio/MiBeeNvr #430
    Row("rtp-large", "RTP: keyframes of a megabyte, whose packets come at once", "120 pictures, none damaged", large),
    # webrtc-rs/webrtc #305, bluecherrydvr/bluecherry-client #40
    Row("rtp-overtaken", "RTP: each third packet is overtaken by up to five of its picture", ALL, overtaken),
    # meetecho/janus-gateway #2692
    Row("rtp-type-changes", "RTP: another payload type of the description in mid-stream", ALL, type_changes),
    # pjsip/pjproject #2584
    Row("rtp-wraps", "RTP: time stamps and numbers that wrap", f"{ALL}, all sound", wraps),
    # gtxaspec/raptor #32, #43
    Row("rtp-reports-wander", "RTP: sender reports that differ by up to half a second", f"{ALL}, all sound, even steps", reports_wander),
    Row("rtp-stalls", "RTP: the packets of two seconds at once", f"{ALL}, all sound, even steps", stalls),
    # awslabs/amazon-kinesis-video-streams-webrtc-sdk-c #1607
    Row("rtp-sound-jitters", "RTP: sound whose time stamps step by 953 to 967", f"{ALL}, all sound", sound_jitters),
    # ossrs/srs #4697
    Row("rtp-sound-rests", "RTP: sound that rests for 3 s and counts them", f"{ALL}, all sound beside its picture", sound_rests),
    # ant-media/Ant-Media-Server #7396
    Row("rtp-sound-first", "RTP: pictures that begin 5 s after the sound", f"{ALL}, all sound beside its picture", sound_first),
    Row("rtp-descriptions", "RTP: descriptions as cameras write them, 13 forms", "60 pictures of each", forms),
]
