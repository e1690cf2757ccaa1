"""Transport streams: what encoders, cameras and multiplexers really write."""
import subprocess, time

from ports import free_port

from . import Row, multiplex as ts

ZERO_DELAY = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p"]


def plain(lab, *video, seconds=6, size="640x360", rate=30, name="plain.ts", picture="testsrc2", sound=True):
    """A plain stream by FFmpeg. `sound` may be options for its sound."""
    path = lab.path(name)
    lab.ffmpeg(
        "-f", "lavfi", "-i", f"{picture}=size={size}:rate={rate}", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000",
        "-t", seconds, *(video or [*ZERO_DELAY, "-g", 30]), 
        *(["-c:a", "aac"] if sound is True else sound or ["-an"]), "-f", "mpegts", path)
    return path


def frames(report):
    return report["frames"]


def counter(report, name):
    return report.get("counters", {}).get(name, 0)


def through(lab, packets, *options, live=False, name="in.ts", send=ts.send):
    """Relays packets, from a file or at their pace over UDP (or `live`), into a file: the report and the packets that came out."""
    out = lab.path("out.ts")
    out.unlink(missing_ok=True)
    # What is looked at is what comes, not how fast this machine is.
    options = ["--budget", "1s", "--tier", "base", *options]
    if live:
        port = free_port()
        relay = lab.relay(f"{'udp' if live is True else live}://127.0.0.1:{port}", out, *options)
        relay.wait_for("listening")
        send(packets, "127.0.0.1", port)
        time.sleep(1)
        code = relay.stop()
    else:
        ts.write(lab.path(name), packets)
        relay = lab.relay(lab.path(name), out, *options)
        code = relay.process.wait(300)
    lab.want(code == 0, f"exit {code}: {relay.text()[-300:]}")
    lab.events = relay.text()
    return lab.report(), ts.read(out)


def all_shown(lab, report, pictures, damaged=0, mode="emitted"):
    """Every picture came out, and none counts as damaged."""
    found, hurt = frames(report)[mode], counter(report, "pictures_damaged")
    lab.want(found == pictures, f"{found} of {pictures} {mode}: {report['frames'].get('originals_dropped_by_reason')}")
    lab.want(hurt <= damaged, f"{hurt} pictures count as damaged")
    return f"{found} of {pictures}, {hurt} damaged"


# Lengths

LARGE = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-crf", 4, "-g", 30]
LARGE_HEVC = ["-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
              "-x265-params", "log-level=none:crf=4:keyint=30:bframes=0"]


def lengths(change, *video, **options):
    """Video whose PES packets `change` makes anew: enhanced without damage, and bypassed to the byte."""
    def run(lab):
        packets = ts.read(plain(lab, *video, seconds=4, picture="mandelbrot", sound=False, **options))
        main = ts.video(packets)
        sizes = [len(body) for _, body in ts.pes(packets, main)]
        lab.want(max(sizes) > 65535, f"the largest unit has {max(sizes)} bytes only")
        changed = ts.repack(packets, main, change)
        # Twice this size is too much for some machines.
        report, _ = through(lab, changed, "--scale", "1")
        text = all_shown(lab, report, len(sizes))
        report, out = through(lab, changed, "--mode", "bypass")
        all_shown(lab, report, len(sizes), mode="bypassed")
        same = ts.payload(out) == ts.payload(packets, main)
        lab.want(same, "bypassed bytes differ")
        return f"{text}; bypassed {'identical' if same else 'changed'}; largest unit {max(sizes)} bytes"
    return run


def wrapped(number, header, body):
    total = len(header) - 6 + len(body) & 0xFFFF
    return [header[:4] + total.to_bytes(2, "big") + header[6:] + body]


def too_small(number, header, body):
    return [header[:4] + b"\0\2" + header[6:] + body]


def split(at):
    def change(number, header, body):
        """One unit in several PES packets with right lengths, two where they suffice; only the first has time stamps."""
        room = at or min(max(1, (len(body) + 1) // 2), 65_000)
        parts, rest = [body[:room]], body[room:]
        while rest:
            parts.append(rest[:room])
            rest = rest[room:]
        heads = [header] + [header[:6] + b"\x80\0\0"] * (len(parts) - 1)
        return [head[:4] + (len(head) - 6 + len(part)).to_bytes(2, "big") + head[6:] + part for head, part in zip(heads, parts)]
    return change


# Counters

def counters(change, live=True):
    def run(lab):
        right = ts.read(plain(lab, seconds=8))
        pictures = len(ts.pes(right, ts.video(right)))
        found, delays = "", []
        for packets in (right, change([bytearray(packet) for packet in right])):
            report, out = through(lab, packets, live=live)
            found = all_shown(lab, report, pictures)
            delays.append(report["latency_original"]["p50"] if live else 0)
        lab.want(counter(report, "input_packets_lost") == 0, f"{counter(report, 'input_packets_lost')} packets count as lost")
        if live:
            lab.want(delays[1] - delays[0] < 2, f"p50 {delays[0]:.1f} ms with right counters, {delays[1]:.1f} ms with wrong ones")
        lines = lab.events.count("counters")
        lab.want(lines == 1, f"{lines} lines about counters")
        return f"{found}; p50 {delays[1]:.1f} ms beside {delays[0]:.1f} ms"
    return run


def still(packets):
    for packet in packets:
        packet[3] &= 0xF0
    return packets


def count_empty(packets):
    """Counters that count packets without payload, of which there is one before each third picture."""
    main, extra, out, number = ts.video(packets), 0, [], 0
    for packet in packets:
        if ts.pid(packet) == main:
            if ts.starts(packet):
                number += 1
                if number % 3 == 0:
                    counter = (packet[3] + extra) & 15
                    extra += 1
                    out.append(bytearray([0x47, main >> 8, main & 255, 0x20 | counter, 183, 0]) + b"\xff" * 182)
            packet[3] = packet[3] & 0xF0 | (packet[3] + extra) & 15
        out.append(packet)
    return out


def restart_at_pictures(packets):
    main, counter = ts.video(packets), 0
    for packet in packets:
        if ts.pid(packet) == main and ts.has_payload(packet):
            counter = 0 if ts.starts(packet) else counter + 1 & 15
            packet[3] = packet[3] & 0xF0 | counter
    return packets


def shared(packets):
    for number, packet in enumerate(packets):
        packet[3] = packet[3] & 0xF0 | number & 15
    return packets


# Tables

def wrong_checksums(lab):
    packets = ts.read(plain(lab, seconds=8))
    map_pid, _ = ts.tables(packets)
    pictures = len(ts.pes(packets, ts.video(packets)))
    for packet in packets:
        if ts.starts(packet) and ts.pid(packet) in (0, map_pid):
            at, length = ts.section(packet)
            packet[at + length - 1] ^= 0x5A
    report, _ = through(lab, packets)
    lab.want("checksum" in lab.events, "no line about checksums")
    found = frames(report)["emitted"]
    # The tables have to come three times first, and then a keyframe.
    lab.want(found >= pictures - 60, f"{found} of {pictures} pictures")
    return f"{found} of {pictures} pictures"


# Packets of other sizes

def packet_size(size, live):
    def run(lab):
        packets = ts.read(plain(lab))
        pictures = len(ts.pes(packets, ts.video(packets)))
        if size == 192:
            packets = [(number * 4000 & 0x3FFFFFFF).to_bytes(4, "big") + bytes(packet) for number, packet in enumerate(packets)]
        else:
            packets = [bytes(packet) + bytes((number * 7 + k) & 255 for k in range(16)) for number, packet in enumerate(packets)]
        report, out = through(lab, packets, live=live, name="in.mts")
        return all_shown(lab, report, pictures)
    return run


# Streams beside the picture

KLV = bytes.fromhex("060e2b34020b01010e01030101000000") + b"\x0e" + bytes.fromhex("0208000463c56b3ad600") + b"\1\2\0\0"


def pes_of(stream_id, make):
    def pes(number, time):
        head, body = make(number, time)
        data = head + body
        return b"\0\0\1" + bytes([stream_id]) + len(data).to_bytes(2, "big") + data
    return pes


def beside(kind, descriptors, stream_id, make, program=b""):
    """A stream beside the picture: its PES packets, descriptors and PID come out as they went in, only their times move."""
    which = 0x1F1

    def run(lab):
        packets = ts.read(plain(lab))
        packets = ts.add_stream(packets, which, kind, descriptors, pes_of(stream_id, make), program)
        sent = ts.pes(packets, which)
        report, out = through(lab, packets)
        got_program, streams = ts.map_section(out)
        lab.want(streams.get(which) == (kind, descriptors), f"the map has {streams}")
        wanted = program[:-2] + b"\0\1" if program[:1] == b"\x25" else program
        lab.want(got_program == wanted, f"the program's descriptors are {got_program.hex()}")
        got = ts.pes(out, which)
        lab.want(len(got) == len(sent), f"{len(got)} of {len(sent)} units")

        def timeless(unit):
            header, body = unit
            return (header[:9] + header[14:] if len(header) > 9 and header[7] & 0x80 else header), body
        lab.want(list(map(timeless, got)) == list(map(timeless, sent)), "PES packets differ")
        full = [p for p in packets if ts.pid(p) == which and ts.payload_offset(p) == 4]
        lab.want(sum(ts.pid(p) == which and ts.payload_offset(p) == 4 for p in out) == len(full), "packets are cut in another way")
        codecs = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", str(lab.path("out.ts"))],
            capture_output=True, text=True).stdout.split()
        return f"{len(got)} of {len(sent)} units, FFmpeg: {', '.join(filter(None, codecs))}"
    return run


def timed(extra=b"", flags=0x84):
    return lambda time: bytes([flags, 0x80, 5 + len(extra)]) + ts.stamp_bytes(time, 2) + extra


def klv(number, time):
    return timed()(time), bytes([0, number & 255, 0xDF]) + len(KLV).to_bytes(2, "big") + KLV


def loose_klv(number, time):
    return b"\x84\0\0", KLV


def teletext(number, time):
    lines = b"".join(b"\x03\x2c" + b"\xe7\xe4" + bytes([number & 127]) * 42 for _ in range(3))
    return timed(b"\xff" * 31)(time), b"\x10" + lines


def id3(number, time):
    text = b"\x03" + f"picture {number}".encode()
    frame = b"TXXX" + len(text).to_bytes(4, "big") + b"\0\0" + text
    return timed()(time), b"ID3\x04\0\0" + bytes([0, 0, 0, len(frame)]) + frame


ID3_STREAM = bytes.fromhex("260d") + b"\xff\xffID3 \xffID3 \0\x0f"
ID3_PROGRAM = bytes.fromhex("250f") + b"\xff\xffID3 \xffID3 \0\x1f" + b"\0\x07"


BESIDE = [
    ("klv", 0x15, bytes.fromhex("26090100ff4b4c5641000f") + bytes.fromhex("2709c00000c00000c00000"), 0xFC, klv, b""),
    ("klv-loose", 0x06, b"\x05\x04KLVA", 0xBD, loose_klv, b""),
    ("id3", 0x15, ID3_STREAM, 0xBD, id3, ID3_PROGRAM),
    ("teletext", 0x06, bytes.fromhex("5605656e670900"), 0xBD, teletext, b""),
]


# Time stamps

def restamp(change, files=False, interpolate=False):
    def run(lab):
        packets = ts.read(plain(lab, sound=False))
        main, last = ts.video(packets), [0]

        def renew(number, header, body):
            time = change(number, ts.stamp(header, 9), last[0])
            last[0] = time
            return [header[:9] + ts.stamp_bytes(time, 2) + header[14:] + body]
        changed = ts.repack(packets, main, renew)
        pictures = len(ts.pes(changed, main))
        if files:
            ts.write(lab.path("in.ts"), changed)
            code, text = lab.enhance(lab.path("in.ts"), lab.path("out.ts"), "--scale", 2)
            lab.want(code == 0, f"exit {code}: {text[-300:]}")
            out, found = ts.read(lab.path("out.ts")), lab.count(lab.path("out.ts"))
            lab.want(found == pictures, f"{found} of {pictures} pictures")
            text = f"{found} of {pictures}"
            times = sorted(ts.stamps(out))
        else:
            report, out = through(lab, changed, *(["--interpolate", 2] if interpolate else []))
            lost = frames(report)["originals_dropped_by_reason"]
            shown = pictures - sum(lost.values())
            lab.want(shown == pictures, f"{shown} of {pictures} pictures: {lost}")
            text, times = f"{shown} of {pictures}", ts.stamps(out)
        grows = all(a < b for a, b in zip(times, times[1:]))
        lab.want(grows, "stamps out do not grow")
        return text
    return run


def repeated(number, time, last):
    return last if number % 10 == 9 else time


def back(number, time, last):
    return last - 900 if number % 10 == 9 else time


# Keyframes

def psnr_by_ffmpeg(lab, out, size):
    """The mean PSNR of the output, made small again, beside what was sent."""
    done = subprocess.run(
        ["ffmpeg", "-v", "info", "-i", str(out), "-i", str(lab.path("plain.ts")), "-lavfi",
         f"[0:v]scale={size}:flags=area,setpts=N[a];[1:v]setpts=N[b];[a][b]psnr", "-f", "null", "-"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return float(done.stderr.split("average:")[-1].split()[0])


def keyframes(*video):
    """Many keyframes in the source: at most one a second in the output, whose quality is that of a source with a second between two."""
    def run(lab):
        quality = []
        for options in (["-g", 30], list(video)):
            packets = ts.read(plain(lab, *ZERO_DELAY, "-crf", 12, *options, size="320x180", sound=False))
            report, out = through(lab, packets, "--bitrate", "600k")
            pictures = len(ts.pes(packets, ts.video(packets)))
            text = all_shown(lab, report, pictures)
            quality.append(psnr_by_ffmpeg(lab, lab.path("out.ts"), "320x180"))
        done = subprocess.run(
            ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=flags", "-of", "csv=p=0",
             str(lab.path("out.ts"))], capture_output=True, text=True)
        keys = sum(line.startswith("K") for line in done.stdout.split())
        lab.want(keys <= 7, f"{keys} keyframes in 6 s")
        lab.want(quality[0] - quality[1] < 0.5, f"{quality[1]:.2f} dB, {quality[0]:.2f} dB with a second between keyframes")
        return f"{text}; {keys} keyframes in 6 s; {quality[1]:.2f} dB beside {quality[0]:.2f} dB"
    return run


# Order

def unsaid_order(*video):
    def run(lab):
        path = plain(lab, *video, sound=False)
        bare = lab.path("bare.ts")
        # Sequence parameter sets without the part that tells how many pictures are reordered.
        packets = ts.read(path)
        main = ts.video(packets)
        changed = ts.repack(packets, main, lambda number, header, body: [header[:4] + b"\0\0" + header[6:] + without_usability(body)])
        ts.write(bare, changed)
        pictures = len(ts.pes(changed, main))
        report, _ = through(lab, changed)
        return all_shown(lab, report, pictures)
    return run


class Bits:
    """Reads and copies a NAL unit's bits."""

    def __init__(self, data):
        self.bits = "".join(f"{byte:08b}" for byte in data.replace(b"\0\0\3", b"\0\0"))
        self.at = 0

    def take(self, count):
        self.at += count
        return int(self.bits[self.at - count:self.at], 2)

    def number(self):
        zeros = 0
        while not self.take(1):
            zeros += 1
        return (1 << zeros) - 1 + (self.take(zeros) if zeros else 0)


def without_usability(unit):
    """An H.264 access unit whose sequence parameter sets have no VUI: of the profiles that libx264 writes for 4:2:0."""
    parts = unit.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1")
    out = b""
    for nal in parts[1:]:
        if nal[0] & 31 == 7:
            bits = Bits(nal)
            profile = bits.take(8) and bits.take(8)
            bits.take(16)
            bits.number()
            if profile in (100, 110, 122, 244):
                bits.number(), bits.number(), bits.number(), bits.take(1)
                assert not bits.take(1), "scaling lists"
            bits.number()
            assert bits.number() == 0, "another picture order type"
            bits.number(), bits.number(), bits.take(1), bits.number(), bits.number()
            if not bits.take(1):
                bits.take(1)
            bits.take(1)
            if bits.take(1):
                [bits.number() for _ in range(4)]
            text = bits.bits[:bits.at] + "0" + "1"
            text += "0" * (-len(text) % 8)
            raw = bytes(int(text[k:k + 8], 2) for k in range(0, len(text), 8))
            nal = bytearray()
            for byte in raw:
                if nal[-2:] == b"\0\0" and byte < 4:
                    nal.append(3)
                nal.append(byte)
            nal = bytes(nal)
        out += b"\0\0\0\1" + nal
    return out


# Networks

def multicast(lab):
    """A group on the loopback's interface, which the system would not choose."""
    packets, port = ts.read(plain(lab, seconds=4)), free_port()
    pictures = len(ts.pes(packets, ts.video(packets)))
    group, first, second = "239.255.77.7", lab.path("out.ts"), lab.path("in.ts")
    ts.write(second, packets)
    receiver = lab.relay(f"udp://@{group}:{port}?iface=127.0.0.1", first)
    receiver.wait_for("listening")
    sender = lab.start([
        lab.programs / "burnish", "relay", "--input", second, "--output", f"udp://{group}:{port}?iface=lo&ttl=1", "--quiet", "--mode",
        "bypass"])
    sender.process.wait(60)
    time.sleep(1)
    receiver.stop()
    found = frames(lab.report())["originals"]
    lab.want(found == pictures, f"{found} of {pictures} pictures: {sender.text()[-300:]}")
    return f"{found} of {pictures} pictures"


# What senders leave out

def no_association(packets):
    return [packet for packet in packets if ts.pid(packet) != 0]


def empty_payloads(packets):
    """Behind each third picture's first packet comes one that is to have payload and holds stuffing alone."""
    main, extra, out, number = ts.video(packets), 0, [], 0
    for packet in packets:
        if ts.pid(packet) == main and ts.has_payload(packet):
            packet[3] = packet[3] & 0xF0 | (packet[3] + extra) & 15
        out.append(packet)
        if ts.pid(packet) == main and ts.starts(packet):
            number += 1
            if number % 3 == 0:
                extra += 1
                out.append(bytearray([0x47, main >> 8, main & 255, 0x30 | (packet[3] + 1) & 15, 183, 0]) + b"\xff" * 182)
    return out


def without_stamps(packets):
    return ts.repack(packets, ts.video(packets), lambda number, header, body: [header[:4] + b"\0\0\x84\0\0" + body])


def changed(change, spare=0):
    def run(lab):
        packets = ts.read(plain(lab))
        pictures = len(ts.pes(packets, ts.video(packets)))
        report, out = through(lab, change(packets))
        found, hurt = frames(report)["emitted"], counter(report, "pictures_damaged")
        lab.want(found >= pictures - spare and hurt == 0, f"{found} of {pictures} pictures, {hurt} damaged")
        times = ts.stamps(out)
        lab.want(all(a < b for a, b in zip(times, times[1:])), "stamps out do not grow")
        return f"{found} of {pictures}, {hurt} damaged"
    return run


def seeds(stream, folder):
    """Odd streams made of a plain one, as seeds of the fuzzer: a byte for the size of its pieces, and packets."""
    def made(name, packets):
        with open(f"{folder}/{name}", "wb") as file:
            file.write(b"\244" + b"".join(map(bytes, packets))[:30000])

    def fresh():
        return ts.read(stream)
    main = ts.video(fresh())
    for change in (still, count_empty, restart_at_pictures, shared):
        made(change.__name__, change(fresh()))
    for change in (wrapped, too_small, split(0)):
        made(f"lengths-{change.__name__}", ts.repack(fresh(), main, change))
    made("packets-192", [b"\0\1\2\3" + bytes(packet) for packet in fresh()])
    made("packets-204", [bytes(packet) + bytes(16) for packet in fresh()])
    for name, kind, descriptors, stream_id, make, program in BESIDE:
        made(name, ts.add_stream(fresh(), 0x1F1, kind, descriptors, pes_of(stream_id, make), program))


INTRA = ["-g", 1, "-x264-params", "keyint=1"]
B_FRAMES = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", 60]

ROWS = [
    Row("lengths-wrapped", "video PES packets of more than 64 KiB that state their length modulo 65,536", "all pictures; bypassed to the byte",
        lengths(wrapped, *LARGE, size="1280x720")),
    Row("lengths-wrapped-hevc", "the same in HEVC", "all pictures; bypassed to the byte", lengths(wrapped, *LARGE_HEVC, size="1280x720")),
    Row("lengths-two", "video PES packets that state a length of 2", "all pictures; bypassed to the byte", lengths(too_small, *LARGE, size="1280x720")),
    Row("lengths-halves", "each picture in two PES packets with right lengths", "all pictures; bypassed to the byte", lengths(split(0), *LARGE, size="1280x720")),
    Row("lengths-parts", "pictures in PES packets of 65,520 bytes at most, with right lengths", "all pictures; bypassed to the byte",
        lengths(split(65_500), *LARGE, size="1280x720")),
    Row("counters-still", "continuity counters that stand still, the tables', too", "no damage, p50 within 2 ms, one line", counters(still)),
    Row("counters-empty", "continuity counters that count packets without payload", "no damage, p50 within 2 ms, one line", counters(count_empty)),
    Row("counters-restart", "continuity counters that begin anew with each picture", "no damage, p50 within 2 ms, one line", counters(restart_at_pictures)),
    Row("counters-shared", "one continuity counter for all streams", "no damage, p50 within 2 ms, one line", counters(shared)),
    Row("checksums-wrong", "tables whose checksum is always wrong", "believed after they came three times, one line", wrong_checksums),
    Row("packets-192", "packets of 192 bytes in a file (.mts)", "all pictures", packet_size(192, False)),
    Row("packets-192-live", "packets of 192 bytes over UDP", "all pictures", packet_size(192, True)),
    Row("packets-204", "packets of 204 bytes in a file", "all pictures", packet_size(204, False)),
    Row("packets-204-live", "packets of 204 bytes over UDP", "all pictures", packet_size(204, True)),
    *(Row(name, sent, "as it came", beside(*parts)) for (name, *parts), sent in zip(BESIDE, (
        "synchronous KLV beside the video (MISB ST 1402)", "KLV without time stamps", "ID3 beside the video, with a program's descriptor",
        "teletext beside the video (EN 300 472)"))),
    Row("stamps-repeated", "every tenth picture has the stamp of the one before", "all shown, stamps grow", restamp(repeated)),
    Row("stamps-back", "every tenth picture has a stamp 10 ms before the one before", "all shown, stamps grow", restamp(back)),
    Row("stamps-interpolated", "the same with --interpolate 2", "all shown, stamps grow", restamp(back, interpolate=True)),
    Row("stamps-files", "the same in a file for burnish enhance", "all shown, stamps grow", restamp(back, files=True)),
    Row("keyframes-only", "each picture is a keyframe", "one a second, within 0.5 dB", keyframes(*INTRA)),
    Row("recovery-points", "a recovery point at each picture", "one a second, within 0.5 dB", keyframes(
        "-g", 30, "-x264-params", "intra-refresh=1:keyint=2")),
    Row("order-unsaid", "B-frames in H.264 without VUI", "all pictures", unsaid_order(*B_FRAMES)),
    Row("order-unsaid-flat", "the same without reference B-frames", "all pictures", unsaid_order(*B_FRAMES, "-x264-params", "b-pyramid=none")),
    Row("no-association", "a program map and no association", "pictures from the second keyframe on at the latest", changed(no_association, 60)),
    Row("empty-payloads", "packets that are to have payload and hold stuffing alone", "all pictures, no damage", changed(empty_payloads)),
    Row("no-stamps", "pictures without any time stamp (cameras)", "all pictures, stamps grow", changed(without_stamps)),
    Row("multicast-interface", "a multicast group on another interface than the system's choice", "all pictures", multicast),
]
