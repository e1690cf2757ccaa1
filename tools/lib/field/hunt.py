"""Transport streams on which other servers, players and packagers failed: tables, time stamps, sound, packets. Each row names its source."""
from . import Row, multiplex as ts
from .transport import ZERO_DELAY, all_shown, plain, through

WRAP = 1 << 33
SMALL = {"size": "320x180"}
B_FRAMES = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", 30, "-bf", 3, "-x264-params", "b-adapt=0:scenecut=0"]
HEVC = ["-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]


def pictures(packets):
    return len(ts.pes(packets, ts.video(packets)))


def numbered(packets):
    """Right continuity counters, whatever they were."""
    newest = {}
    for packet in packets:
        if ts.has_payload(packet):
            newest[ts.pid(packet)] = newest.get(ts.pid(packet), -1) + 1 & 15
        packet[3] = packet[3] & 0xF0 | newest.get(ts.pid(packet), 0)
    return packets


def span(packets, which):
    """The least and the greatest presentation time, in the order of the times however often they wrap."""
    first = ts.stamps(packets, which)[0]
    steps = [(time - first + WRAP // 2) % WRAP - WRAP // 2 for time in ts.stamps(packets, which)]
    return first + min(steps), first + max(steps)


def same_sound(lab, packets, out, place=1):
    """The sound came out byte for byte, and lies beside the pictures as it did: at their ends, because pictures before the first keyframe
    cannot come out, or at their beginnings (0)."""
    before = ts.sound(packets)
    after = before if before in ts.tables(out)[1] else ts.sound(out)
    same = ts.payload(packets, before) == ts.payload(out, after)
    lab.want(same, f"{len(ts.payload(out, after))} of {len(ts.payload(packets, before))} bytes of sound")
    moved = [(span(out, new)[place] - span(packets, old)[place]) % WRAP for new, old in (
        (after, before), (ts.video(out), ts.video(packets)))]
    apart = min((moved[0] - moved[1]) % WRAP, (moved[1] - moved[0]) % WRAP) / 90
    lab.want(apart < 3, f"sound and pictures have moved apart by {apart:.0f} ms")
    return f"sound {'identical' if same else 'changed'}, {apart:.0f} ms apart"


def even(lab, out, rate=30, most=0.002):
    """The pictures out follow each other at the stream's rate."""
    times = sorted(ts.stamps(out))
    uneven = [b - a for a, b in zip(times, times[1:]) if abs((b - a) / 90000 - 1 / rate) > most]
    lab.want(not uneven, f"{len(uneven)} steps out are uneven, the longest {max(uneven, default=0) / 90:.0f} ms")


def whole(make, *options, live=False, send=ts.send):
    """A row's run: all pictures, none damaged, and the sound as it came. `make` gives what is sent, and the same as other programs send it."""
    def run(lab):
        packets, usual = make(lab)
        report, out = through(lab, packets, *options, live=live, send=send)
        found = all_shown(lab, report, pictures(usual))
        even(lab, out)
        return f"{found}; {same_sound(lab, usual, out)}"
    return run


# Tables

def grown(lab):
    """The first second's maps have the pictures alone; then another version adds the sound."""
    packets = ts.read(plain(lab, **SMALL))
    sound, map_pid = ts.sound(packets), ts.tables(packets)[0]
    at = next(number for number, packet in enumerate(packets) if ts.pid(packet) == map_pid and number > len(packets) // 6)
    before = [packet for packet in packets[:at] if ts.pid(packet) != sound]
    first = next(number for number, packet in enumerate(packets) if number > at and ts.pid(packet) == sound and ts.starts(packet))
    after = [packet for number, packet in enumerate(packets) if number >= at and (number >= first or ts.pid(packet) != sound)]
    ts.remap(before, lambda clock, program, entries, number: (clock, program, [each for each in entries if each[1] != sound]))
    ts.remap(after, lambda clock, program, entries, number: (clock, program, entries), version=lambda number: 1)
    packets = numbered(before + after)
    report, out = through(lab, packets)
    found = all_shown(lab, report, pictures(packets))
    sent, got = len(ts.pes(packets, sound)), len(ts.pes(out, sound))
    lab.want(ts.payload(out, sound) == ts.payload(packets, sound), f"{got} of {sent} units of sound")
    return f"{found}; {got} of {sent} units of sound"


def low_identifiers(lab):
    packets = [packet for packet in ts.read(plain(lab, **SMALL)) if ts.pid(packet) != 0x11]
    packets = ts.rename(packets, {ts.video(packets): 0x11, ts.sound(packets): 0x10})
    return packets, packets


def section_packet(pid, number, body, pointer=b"\0"):
    packet = bytearray([0x47, 0x40 | pid >> 8, pid & 255, 0x10 | number & 15]) + pointer + body
    return packet + b"\xff" * (ts.SIZE - len(packet))


def other_tables(lab):
    """On the map's PID come private sections of other tables, alone and before the map in one packet."""
    packets, out, number = ts.read(plain(lab, **SMALL)), [], 0
    map_pid, _ = ts.tables(packets)
    private = b"\xC8\x30\x14" + bytes(range(16))
    private += ts.checksum(private)
    for packet in packets:
        if ts.pid(packet) != map_pid:
            out.append(packet)
            continue
        at, length = ts.section(packet)
        whole_map = bytes(packet[at:at + length])
        out.append(section_packet(map_pid, number, private))
        out.append(section_packet(map_pid, number + 1, private + whole_map))
        number += 2
    return out, packets


def long_map(lab):
    """A map of 400 bytes in three packets, and the clock references on a PID of their own."""
    packets, out, number, clocks = ts.read(plain(lab, **SMALL)), [], 0, 0
    map_pid, main = ts.tables(packets)[0], ts.video(packets)
    about = b"\x80\xc8" + bytes(200) + b"\x81\x80" + bytes(128)
    for packet in packets:
        if ts.pid(packet) == map_pid:
            at, length = ts.section(packet)
            head, body = bytes(packet[at:at + 8]), bytes(packet[at + 12:at + length - 4])
            body = head + (0xE000 | 8190).to_bytes(2, "big") + (0xF000 | len(about)).to_bytes(2, "big") + about + body
            body = body[:1] + (0xB000 | len(body) + 1).to_bytes(2, "big") + body[3:]
            body += ts.checksum(body)
            parts = [b"\0" + body[:183]] + [body[place:place + 184] for place in range(183, len(body), 184)]
            for place, part in enumerate(parts):
                out.append(bytearray([0x47, 0x40 * (place == 0) | map_pid >> 8, map_pid & 255, 0x10 | number & 15])
                           + part + b"\xff" * (184 - len(part)))
                number += 1
            continue
        if ts.clock(packet) is not None and ts.pid(packet) == main:
            out.append(bytearray([0x47, 8190 >> 8, 8190 & 255, 0x20, 183, 0x10]) + packet[6:12] + b"\xff" * 176)
        out.append(packet)
    return out, packets


def typed(kind, about, *video):
    """A stream type and descriptors for the video that few readers know."""
    def make(lab):
        packets = ts.read(plain(lab, *video, **SMALL))
        main = ts.video(packets)
        return main, ts.remap(packets, lambda clock, program, entries, number: (clock, program, [
            (kind, which, about) if which == main else (old, which, text) for old, which, text in entries]))

    def run(lab):
        main, packets = make(lab)
        count = len(ts.pes(packets, main))
        report, out = through(lab, packets)
        return all_shown(lab, report, count)
    return run


def named_before(kind, about=b""):
    """The map names a stream of which no packet comes, before the others."""
    def make(lab):
        packets = ts.read(plain(lab, **SMALL))
        usual = [bytearray(packet) for packet in packets]
        return ts.remap(packets, lambda clock, program, entries, number: (clock, program, [(kind, 0x1F0, about), *entries])), usual
    return make


def silent_video(lab):
    packets, usual = named_before(0x1B)(lab)
    report, out = through(lab, packets)
    found, total = report["frames"]["emitted"], pictures(usual)
    lab.want(found >= total - 30, f"{found} of {total}: {report['frames'].get('originals_dropped_by_reason')}")
    return f"{found} of {total}; {same_sound(lab, usual, out)}"


def maps_together(lab):
    """Two programs whose maps have one packet identifier; the second one has packets of private data alone."""
    packets, out, number = ts.read(plain(lab, **SMALL)), [], 0
    map_pid, main = ts.tables(packets)[0], ts.video(packets)
    second = bytes([2, 0, 0, 0, 2, 0xC1, 0, 0]) + ts.map_body(0x1FFF, b"", [(6, 0x1F1, b"")])
    for packet in packets:
        if ts.pid(packet) == 0:
            at, length = ts.section(packet)
            ts.put_section(packet, bytes(packet[at:at + length - 4]) + bytes([0, 2]) + (0xE000 | map_pid).to_bytes(2, "big"))
        elif ts.pid(packet) == map_pid:
            packet[3] = packet[3] & 0xF0 | number & 15
            out.append(packet)
            other = section_packet(map_pid, number + 1, b"")
            ts.put_section(other, second)
            packet, number = other, number + 2
        out.append(packet)
    return out, packets


# Time stamps

def without_decoding_times(lab):
    """B-frames whose PES packets have presentation times alone."""
    packets = ts.read(plain(lab, *B_FRAMES, sound=False, **SMALL))
    main, total = ts.video(packets), pictures(packets)
    packets = ts.repack(packets, main, lambda number, header, body: [
        header[:4] + b"\0\0" + header[6:7] + b"\x80\5" + ts.stamp_bytes(ts.stamp(header, 9), 2) + body])
    report, out = through(lab, packets)
    even(lab, out)
    return all_shown(lab, report, total, damaged=1)


def paced(speed):
    """A source whose clock runs so much faster than ours."""
    return lambda packets, host, port: ts.send(packets, host, port, late=lambda due: due / speed)


def wrapping(lab):
    """The time stamps wrap between the decoding and the presentation time of one picture in the middle."""
    packets = ts.read(plain(lab, *B_FRAMES, **SMALL))
    both = [ts.times(packet) for packet in packets if ts.pid(packet) == ts.video(packets)]
    both = [(show, decode) for show, decode in both if decode is not None and show - decode > 3000]
    show, decode = both[len(both) // 2]
    shift = WRAP - (show + decode) // 2
    packets = ts.restamp(packets, lambda which, time: time + shift)
    return packets, packets


def looped(times, renumbers, live=False):
    """A file that is sent again and again: its time stamps begin anew each time, and nothing says so."""
    def run(lab):
        once = ts.read(plain(lab, seconds=4, **SMALL))
        packets = [bytearray(packet) for _ in range(times) for packet in once]
        packets = numbered(packets) if renumbers else packets
        size = len(once)

        def send(packets, host, port):
            for place in range(times):
                ts.send(packets[place * size:(place + 1) * size], host, port)
        report, out = through(lab, packets, live=live, send=send)
        count = times * pictures(once)
        # With counters that begin anew, each end looks like a loss.
        found = all_shown(lab, report, count, damaged=0 if renumbers else times)
        stamps = sorted(ts.stamps(out))
        longest = max((b - a) / 90 for a, b in zip(stamps, stamps[1:]))
        lab.want(longest < 300, f"{longest:.0f} ms without a picture")
        sound = len(ts.payload(out, ts.sound(out))), times * len(ts.payload(once, ts.sound(once)))
        lab.want(sound[0] >= sound[1] - (0 if renumbers else 2000 * times), f"{sound[0]} of {sound[1]} bytes of sound")
        return f"{found}; longest step {longest:.0f} ms; {sound[0]} of {sound[1]} bytes of sound"
    return run


def late_sound(lab):
    """The sound begins 3 s after the first picture."""
    lab.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-itsoffset", 3, "-f", "lavfi", "-i", "sine=sample_rate=48000",
               "-t", 8, *ZERO_DELAY, "-g", 30, "-c:a", "aac", "-f", "mpegts", lab.path("plain.ts"))
    packets = ts.read(lab.path("plain.ts"))
    return packets, packets


# Pictures and packets

# Nobody can know whether the last picture of such a stream is whole, so it may count as damaged.

def several(count, *video):
    """So many pictures in each PES packet, of which the first one alone has time stamps."""
    def make(lab):
        packets, waiting = ts.read(plain(lab, *video, **SMALL)), []
        main = ts.video(packets)
        total = pictures(packets)

        def join(number, header, body):
            waiting.append((header, body))
            if len(waiting) < count and number < total - 1:
                return []
            head = waiting[0][0]
            data = head[:4] + b"\0\0" + head[6:] + b"".join(body for _, body in waiting)
            waiting.clear()
            return [data]
        return total, ts.repack(packets, main, join)

    def run(lab):
        total, packets = make(lab)
        report, out = through(lab, packets)
        even(lab, out)
        return all_shown(lab, report, total, damaged=1)
    return run


def unaligned(lab):
    """PES packets of 3,000 bytes in which pictures begin anywhere, without delimiters. Stamps are those of the first that begins."""
    path = plain(lab, *ZERO_DELAY, "-g", 30, "-bsf:v", "filter_units=remove_types=9", **SMALL)
    packets = ts.read(path)
    main, stream, begins = ts.video(packets), b"", []
    for header, body in ts.pes(packets, main):
        # FFmpeg's multiplexer puts delimiters there again.
        body = body.removeprefix(b"\0\0\0\1\x09\xf0")
        begins.append((len(stream), header))
        stream += body
    parts = []
    for at in range(0, len(stream), 3000):
        header = next((header for begin, header in begins if at <= begin < at + 3000), b"\0\0\1\xe0\0\0\x80\0\0")
        parts.append(header[:4] + b"\0\0" + header[6:] + stream[at:at + 3000])
    total, share, used = len(begins), len(parts) / len(begins), [0]

    def spread(number, header, body):
        end = len(parts) if number == total - 1 else round((number + 1) * share)
        found, used[0] = parts[used[0]:end], end
        return found
    return total, ts.repack(packets, main, spread)


def unaligned_row(lab):
    total, packets = unaligned(lab)
    report, out = through(lab, packets)
    even(lab, out)
    return all_shown(lab, report, total, damaged=1)


def messages_apart(lab):
    """Each picture's message (SEI) comes in a PES packet of its own with the picture's time stamps (DJI's drones)."""
    packets = ts.read(plain(lab, *ZERO_DELAY, "-g", 30, **SMALL))
    note = b"\0\0\0\1\x06\x05\x60" + bytes(range(16, 32)) + b"\x55" * 80 + b"\x80"
    delimiter = b"\0\0\0\1\x09\xf0"

    def part(number, header, body):
        header = header[:4] + b"\0\0" + header[6:]
        return [header + delimiter + note, header + body.removeprefix(delimiter)]
    return pictures(packets), ts.repack(packets, ts.video(packets), part)


def messages_row(lab):
    total, packets = messages_apart(lab)
    report, out = through(lab, packets)
    even(lab, out)
    return all_shown(lab, report, total, damaged=1)


def held(due):
    """The sender holds what is due between 2 s and 5 s, and then sends it at once."""
    return 5.0 if 2 <= due < 5 else due


def source(lab):
    packets = ts.read(plain(lab, *ZERO_DELAY, "-g", 30, "-b:v", "200k", "-maxrate", "200k", "-bufsize", "100k", seconds=8, **SMALL))
    return packets, packets


ALL = "all pictures, none damaged"
HEARD = f"{ALL}, the sound as it came"
ROWS = [
    # google/ExoPlayer #9920, mangui/flashls #502
    Row("map-grows", "a map that adds the sound after a second, with the next version", f"{ALL}, all units of the sound", grown),
    # bluenviron/mediamtx #6084, #6059; tvheadend #1400
    Row("identifiers-low", "pictures and sound on packet identifiers 0x11 and 0x10, which DVB keeps for tables", HEARD, whole(low_identifiers)),
    # kynesim/tstools #30
    Row("map-beside-others", "private sections on the map's packet identifier, alone and before the map", HEARD, whole(other_tables)),
    # futzu/threefive #40, catalinii/minisatip #816
    Row("map-long", "a map in three packets, clock references on packet identifier 8190", HEARD, whole(long_map)),
    # google/ExoPlayer #898
    Row("type-private", "HEVC as private data with a registration", ALL, typed(
        0x06, b"\x05\x04HEVC", *HEVC, "-x265-params", "log-level=none:keyint=30:bframes=0")),
    # tsduck/tsduck #1681
    Row("type-contradicted", "HEVC with a descriptor of VVC", ALL, typed(
        0x24, b"\x39\x04\x01\x60\x00\x00", *HEVC, "-x265-params", "log-level=none:keyint=30:bframes=0")),
    # google/ExoPlayer #9243, androidx/media #796
    Row("named-alone-video", "a map that names other video first, of which nothing comes", "pictures from the second keyframe on, the sound as it came",
        silent_video),
    Row("named-alone-sound", "a map that names other sound first, of which nothing comes", HEARD, whole(named_before(0x0F))),
    # eriksl/streamproxy #17
    Row("maps-together", "two programs whose maps have one packet identifier", HEARD, whole(maps_together)),
    # moq-dev/moq #1836
    Row("stamps-shown", "B-frames with presentation times alone", f"{ALL}, even steps", without_decoding_times),
    # Haivision/srt #753, bluenviron/mediamtx #5550
    Row("clock-fast", "a source whose clock runs 500 ppm fast", HEARD, whole(source, live=True, send=paced(1.0005))),
    Row("clock-half", "a source that comes at half of its speed", HEARD, whole(source, live=True, send=paced(0.5))),
    Row("clock-double", "a source that comes at twice its speed", HEARD, whole(source, live=True, send=paced(2))),
    # shaka-project/shaka-packager #1049, shaka-player #10324
    Row("stamps-wrap", "time stamps that wrap between a picture's decoding and presentation", HEARD, whole(wrapping)),
    # google/ExoPlayer #6421, tsduck/tsduck #1132
    Row("looped", "a file three times, its time stamps begin anew, right counters", f"{ALL}, all sound", looped(3, True)),
    Row("looped-live", "the same over UDP, the counters begin anew, too", f"{ALL} but the last of each", looped(3, False, live=True)),
    # videojs/videojs-contrib-hls #211, microsoft/FFmpegInterop #262
    Row("sound-late", "sound that begins 3 s after the pictures", HEARD, whole(late_sound)),
    # video-dev/hls.js #2790
    Row("pictures-together", "15 pictures in each PES packet", f"{ALL}, even steps", several(15)),
    Row("pictures-together-b", "five in each, with B-frames", f"{ALL}, even steps", several(5, *B_FRAMES)),
    # shaka-project/shaka-packager #492, Vanilagy/mediabunny #414
    Row("pictures-unaligned", "pictures that begin anywhere in PES packets, without delimiters", f"{ALL}, even steps", unaligned_row),
    # bluenviron/mediamtx #6051, #6243
    Row("messages-apart", "each picture's message (SEI) in a PES packet of its own", f"{ALL}, even steps", messages_row),
    # Haivision/srt #86
    Row("datagrams-1456", "datagrams of 1,456 bytes, in which packets are cut", HEARD, whole(
        source, live=True, send=lambda packets, host, port: ts.send(packets, host, port, 1456))),
    # eerimoq/moblin #414
    Row("held-back", "a sender that stops for 3 s and sends then what it held", HEARD, whole(
        source, live=True, send=lambda packets, host, port: ts.send(packets, host, port, late=held))),
]
