"""Sends pictures and sound as plain RTP in real time, in the ways of real cameras. Standard library only."""
import base64, dataclasses, random, select, socket, struct, time

NTP_EPOCH = 2208988800


@dataclasses.dataclass
class Payload:
    """One packet's payload."""

    bytes: bytes
    marked: bool = False
    # The packet has the time stamp of the picture before.
    early: bool = False


def fragments(unit, room):
    """A NAL unit in parts (FU-A)."""
    size = room - 2
    parts = [unit[1:][at:at + size] for at in range(0, len(unit) - 1, size)]
    return [
        bytes([unit[0] & 0xE0 | 28, (at == 0) << 7 | (at == len(parts) - 1) << 6 | unit[0] & 31]) + part
        for at, part in enumerate(parts)
    ]


def payloads(unit, room=1188):
    return [unit] if len(unit) <= room else fragments(unit, room)


def plain(picture):
    """A picture as it should be sent: marked at its last packet."""
    found = [Payload(each) for unit in picture for each in payloads(unit)]
    found[-1].marked = True
    return found


def aggregate(units):
    """Several NAL units in one payload (STAP-A)."""
    return b"\x78" + b"".join(struct.pack(">H", len(unit)) + unit for unit in units)


def opus_packets(ogg):
    """The packets of an Ogg file with Opus, each 20 ms."""
    found, part, at = [], b"", 0
    while ogg[at:at + 4] == b"OggS":
        count = ogg[at + 26]
        sizes = ogg[at + 27:at + 27 + count]
        at += 27 + count
        for size in sizes:
            part += ogg[at:at + size]
            at += size
            if size < 255:
                found.append(part)
                part = b""
    return [each for each in found if not each.startswith((b"OpusHead", b"OpusTags"))]


def vp8_frames(ivf):
    found, at = [], 32
    while at + 12 <= len(ivf):
        size = struct.unpack_from("<I", ivf, at)[0]
        found.append(ivf[at + 12:at + 12 + size])
        at += 12 + size
    return found


def vp8_payloads(frame, room=1100):
    parts = [frame[at:at + room] for at in range(0, len(frame), room)]
    return [Payload(bytes([0x10 if at == 0 else 0]) + part, at == len(parts) - 1) for at, part in enumerate(parts)]


class Track:
    """One stream of packets with its reports."""

    def __init__(self, port, payload_type, rate):
        self.port, self.payload_type, self.rate = port, payload_type, rate
        self.data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.timestamp = random.getrandbits(32)
        self.packets = self.bytes = 0
        self.requests = 0
        self.begin()

    # Packets have padding, contributing sources and a header extension, and each is sent twice.
    is_adorned = False

    def begin(self):
        """Begins as another source."""
        self.source = random.getrandbits(32)
        self.count_anew()

    def count_anew(self):
        self.number = random.getrandbits(16)

    def send(self, payload, ticks, marked):
        header = struct.pack(
            ">BBHII", 0x80, marked << 7 | self.payload_type, self.number & 0xFFFF, self.timestamp + ticks & 0xFFFFFFFF,
            self.source)
        packet = header + payload
        if self.is_adorned:
            # ONVIF's extension for replays, which is none of RFC 8285.
            extension = struct.pack(">HHQI", 0xABAC, 3, 0x1122334455667788, 0xE0000000)
            packet = bytes([0xB2]) + header[1:] + struct.pack(">II", 1, 2) + extension + payload + b"\0\0\0\4"
        for _ in range(1 + self.is_adorned):
            self.data.sendto(packet, ("127.0.0.1", self.port))
        self.number += 1
        self.packets += 1
        self.bytes += len(payload)

    def report(self, ticks, wall):
        ntp = int((wall + NTP_EPOCH) * (1 << 32)) & (1 << 64) - 1
        report = struct.pack(
            ">BBHIQIII", 0x80, 200, 6, self.source, ntp, self.timestamp + ticks & 0xFFFFFFFF, self.packets, self.bytes)
        name = struct.pack(">BBHI", 0x81, 202, 3, self.source) + b"\x01\x05field\0"
        self.control.sendto(report + name, ("127.0.0.1", self.port + 1))

    def goodbye(self):
        report = struct.pack(">BBHI", 0x80, 201, 1, self.source) + struct.pack(">BBHI", 0x81, 203, 1, self.source)
        self.control.sendto(report, ("127.0.0.1", self.port + 1))

    def listen(self):
        """Counts the keyframes that the receiver asks for."""
        while ready := select.select([self.data, self.control], [], [], 0)[0]:
            for each in ready:
                self.requests += each.recv(2048).count(bytes([0x81, 206]))


class Sender:
    """Pictures, and sound beside them."""

    def __init__(self, port, pictures, sound=(), encoding="H264", fps=30, sets=()):
        self.pictures, self.sound, self.fps = pictures, sound, fps
        self.video, self.audio = Track(port, 96, 90000), Track(port + 2, 97, 48000)
        sprop = ";sprop-parameter-sets=" + ",".join(base64.b64encode(each).decode() for each in sets) if sets else ""
        lines = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", f"m=video {port} RTP/AVPF 96",
                 f"a=rtpmap:96 {encoding}/90000"]
        if encoding == "H264":
            lines.append(f"a=fmtp:96 packetization-mode=1{sprop}")
        if sound:
            lines += [f"m=audio {port + 2} RTP/AVP 97", "a=rtpmap:97 opus/48000/2"]
        self.description = "\n".join(lines) + "\n"

    # How the two tracks' reports are wrong: (seconds of the wall clock, for the video's).
    report_error = None
    # Presentation times of the pictures in intervals, where they are not their places.
    shown = None
    # The picture at which another source begins, from the same sockets, and that at which the packets' numbers begin anew.
    renews_at = counts_anew_at = None
    # The picture and the packet of sound that have a time stamp of zero.
    stray = None
    # The packet of sound before which its sender rests for 3 s, without a gap in its time stamps.
    rests_at = None
    # When the first picture is taken, and how much later than it should a picture is sent, in seconds.
    begins_at = 0.0
    late = staticmethod(lambda index: 0.0)

    def run(self, first=0, reports=True, says_goodbye=True):
        """Sends all from the picture `first` on."""
        due = [(self.begins_at + index / self.fps + self.late(index), 0, index) for index in range(first, len(self.pictures))]
        due += [
            (index * 0.02 + 3 * (self.rests_at is not None and index >= self.rests_at), 1, index)
            for index in range(len(self.sound))
        ]
        start, next_report = time.monotonic() - first / self.fps, 0.0
        for moment, is_sound, index in sorted(due):
            pause = start + moment - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            if is_sound:
                ticks = -self.audio.timestamp if self.stray == index else index * 960
                self.audio.send(self.sound[index], ticks, False)
            else:
                if index == self.renews_at:
                    self.video.begin()
                if index == self.counts_anew_at:
                    self.video.count_anew()
                place = self.shown[index] if self.shown else index
                ticks = round((self.begins_at + place / self.fps) * 90000) if self.stray != index else -self.video.timestamp
                for each in self.pictures[index]:
                    self.video.send(each.bytes, ticks - each.early * round(90000 / self.fps), each.marked)
            self.video.listen()
            if reports and moment >= next_report:
                next_report = moment + 1
                wall = time.time()
                self.video.report(round(moment * 90000), wall + (self.report_error or 0))
                if self.sound:
                    self.audio.report(round(moment * 48000), wall)
        if says_goodbye:
            time.sleep(0.2)
            self.video.goodbye()
            if self.sound:
                self.audio.goodbye()
