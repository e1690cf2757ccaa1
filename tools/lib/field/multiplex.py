"""Reads, changes and writes transport streams (ISO/IEC 13818-1), for the rows that need odd ones. A stream is a list of packets of 188 bytes."""
import socket, time
from pathlib import Path

SIZE = 188
VIDEO_TYPES = (0x01, 0x02, 0x1B, 0x24)


def read(path):
    data = Path(path).read_bytes()
    return [bytearray(data[at:at + SIZE]) for at in range(0, len(data) - SIZE + 1, SIZE)]


def write(path, packets):
    Path(path).write_bytes(b"".join(bytes(packet) for packet in packets))


def pid(packet):
    return (packet[1] & 0x1F) << 8 | packet[2]


def starts(packet):
    return bool(packet[1] & 0x40)


def has_payload(packet):
    return bool(packet[3] & 0x10)


def payload_offset(packet):
    return 5 + packet[4] if packet[3] & 0x20 else 4


def checksum(section):
    value = 0xFFFFFFFF
    for byte in section:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value >> 31 else value << 1) & 0xFFFFFFFF
    return value.to_bytes(4, "big")


def section(packet):
    """Where the section in a packet begins, and its length: for tables of one packet, as FFmpeg writes them."""
    at = payload_offset(packet)
    at += 1 + packet[at]
    return at, 3 + ((packet[at + 1] & 0x0F) << 8 | packet[at + 2])


def put_section(packet, body):
    """Replaces the section in a packet by one with this body (without its checksum)."""
    at, _ = section(packet)
    body = body[:1] + (0xB000 | len(body) + 1).to_bytes(2, "big") + body[3:]
    whole = body + checksum(body)
    packet[at:] = whole + b"\xff" * (SIZE - at - len(whole))


def whole_section(packets, number):
    """The section that begins in a packet, with what of it stands in those behind."""
    at, length = section(packets[number])
    found = bytes(packets[number][at:at + length])
    for packet in packets[number + 1:]:
        if len(found) >= length:
            break
        if pid(packet) == pid(packets[number]) and has_payload(packet):
            found += bytes(packet[payload_offset(packet):][:length - len(found)])
    return found


def tables(packets):
    """The program map's PID, and the stream type of each PID that it names."""
    map_pid, types = None, {}
    for number, packet in enumerate(packets):
        if not (starts(packet) and has_payload(packet)):
            continue
        if pid(packet) == 0 and map_pid is None:
            at, length = section(packet)
            for entry in range(at + 8, at + length - 4, 4):
                if packet[entry] << 8 | packet[entry + 1]:
                    map_pid = (packet[entry + 2] & 0x1F) << 8 | packet[entry + 3]
        elif pid(packet) == map_pid:
            body = whole_section(packets, number)
            entry = 12 + ((body[10] & 0x0F) << 8 | body[11])
            while entry + 5 <= len(body) - 4:
                types[(body[entry + 1] & 0x1F) << 8 | body[entry + 2]] = body[entry]
                entry += 5 + ((body[entry + 3] & 0x0F) << 8 | body[entry + 4])
            return map_pid, types
    return map_pid, types


def video(packets):
    return next(key for key, kind in tables(packets)[1].items() if kind in VIDEO_TYPES)


def sound(packets):
    """The first PID that is neither video nor a table."""
    return next(key for key, kind in tables(packets)[1].items() if kind not in VIDEO_TYPES)


def map_section(packets):
    """The last program map: its program's descriptors and, for each PID, the stream type and the descriptors."""
    map_pid, _ = tables(packets)
    packet = [p for p in packets if pid(p) == map_pid and starts(p)][-1]
    at, length = section(packet)
    entry = at + 12 + ((packet[at + 10] & 0x0F) << 8 | packet[at + 11])
    program, streams = bytes(packet[at + 12:entry]), {}
    while entry + 5 <= at + length - 4:
        size = (packet[entry + 3] & 0x0F) << 8 | packet[entry + 4]
        streams[(packet[entry + 1] & 0x1F) << 8 | packet[entry + 2]] = (packet[entry], bytes(packet[entry + 5:entry + 5 + size]))
        entry += 5 + size
    return program, streams


def stamp(data, at):
    return (data[at] >> 1 & 7) << 30 | data[at + 1] << 22 | data[at + 2] >> 1 << 15 | data[at + 3] << 7 | data[at + 4] >> 1


def stamp_bytes(time, mark):
    time &= (1 << 33) - 1
    return bytes([mark << 4 | time >> 30 << 1 | 1, time >> 22 & 255, (time >> 15 & 127) << 1 | 1, time >> 7 & 255, (time & 127) << 1 | 1])


def pes(packets, which):
    """The PES packets of a PID: each one's header and payload, put together from its start to the next start."""
    whole = []
    for packet in packets:
        if pid(packet) != which or not has_payload(packet):
            continue
        if starts(packet):
            whole.append(bytearray())
        if whole:
            whole[-1] += packet[payload_offset(packet):]
    found = []
    for data in whole:
        end = 9 + data[8] if data[6] & 0xC0 == 0x80 and data[3] not in (0xBC, 0xBF, 0xF0, 0xF1, 0xF2, 0xF8, 0xFF) else 6
        found.append((bytes(data[:end]), bytes(data[end:])))
    return found


def payload(packets, which=None):
    """All bytes of an elementary stream; of the video without a PID."""
    return b"".join(body for _, body in pes(packets, video(packets) if which is None else which))


def stamps(packets, which=None):
    """The presentation times of its PES packets, in their order."""
    found = pes(packets, video(packets) if which is None else which)
    return [stamp(header, 9) for header, _ in found if header[7] & 0x80]


def pes_start(packet):
    """Where a PES packet begins in a packet; None where none does, or one of a kind without time stamps."""
    if not (starts(packet) and has_payload(packet)):
        return None
    at = payload_offset(packet)
    ordinary = packet[at:at + 3] == b"\0\0\1" and packet[at + 3] not in (0xBC, 0xBE, 0xBF, 0xF0, 0xF1, 0xF2, 0xF8, 0xFF)
    return at if ordinary else None


def times(packet):
    """The presentation and the decoding time in a packet; None for what it has not."""
    at = pes_start(packet)
    flags = packet[at + 7] >> 6 if at is not None else 0
    return (stamp(packet, at + 9) if flags & 2 else None, stamp(packet, at + 14) if flags == 3 else None)


def restamp(packets, change):
    """Changes all time stamps and clock references in place: `change` gets a PID and a time in ticks of 90 kHz."""
    for packet in packets:
        at = pes_start(packet)
        for place, time in enumerate(times(packet)):
            if time is not None:
                where = at + 9 + 5 * place
                packet[where:where + 5] = stamp_bytes(change(pid(packet), time), packet[where] >> 4)
        if clock(packet) is not None:
            time = change(pid(packet), round(clock(packet) * 90000)) & (1 << 33) - 1
            packet[6:11] = (time << 7 | packet[10] & 0x7F).to_bytes(5, "big")
    return packets


def rename(packets, names):
    """Gives streams other PIDs, in the map, too."""
    map_pid, _ = tables(packets)
    for packet in packets:
        new = names.get(pid(packet))
        if new is not None:
            packet[1], packet[2] = packet[1] & 0xE0 | new >> 8, new & 255
    return remap(packets, lambda clock, program, entries, number: (
        names.get(clock, clock), program, [(kind, names.get(which, which), about) for kind, which, about in entries]))


def remap(packets, change, version=None):
    """Makes the program maps anew in place: `change` gets the clock's PID, the program's descriptors, the streams (type, PID, descriptors)
    and how many maps came before, and gives the first three."""
    map_pid, _ = tables(packets)
    number = 0
    for packet in packets:
        if pid(packet) != map_pid or not starts(packet):
            continue
        at, length = section(packet)
        body = bytes(packet[at:at + length - 4])
        size = (body[10] & 0x0F) << 8 | body[11]
        entries, entry = [], 12 + size
        while entry + 5 <= len(body):
            about = (body[entry + 3] & 0x0F) << 8 | body[entry + 4]
            entries.append((body[entry], (body[entry + 1] & 0x1F) << 8 | body[entry + 2], body[entry + 5:entry + 5 + about]))
            entry += 5 + about
        head = bytearray(body[:8])
        if version:
            head[5] = head[5] & 0xC1 | version(number) << 1
        put_section(packet, bytes(head) + map_body(*change((body[8] & 0x1F) << 8 | body[9], body[12:12 + size], entries, number)))
        number += 1
    return packets


def map_body(clock_pid, program, entries):
    """What stands in a program map behind its section's header."""
    body = (0xE000 | clock_pid).to_bytes(2, "big") + (0xF000 | len(program)).to_bytes(2, "big") + program
    for kind, which, about in entries:
        body += bytes([kind]) + (0xE000 | which).to_bytes(2, "big") + (0xF000 | len(about)).to_bytes(2, "big") + about
    return body


class Packer:
    """Cuts PES packets into transport packets, with right counters."""

    def __init__(self, which, counter=0):
        self.which, self.counter = which, counter

    def pack(self, data):
        packets, first = [], True
        while data:
            part, data = data[:SIZE - 4], data[SIZE - 4:]
            room = SIZE - 4 - len(part)
            head = bytes([0x47, (0x40 if first else 0) | self.which >> 8, self.which & 255, (0x30 if room else 0x10) | self.counter])
            stuffing = b"" if not room else bytes([room - 1]) + (b"\0" + b"\xff" * (room - 2) if room > 1 else b"")
            packets.append(bytearray(head + stuffing + part))
            self.counter, first = (self.counter + 1) & 15, False
        return packets


def repack(packets, which, change):
    """Makes a PID's PES packets anew: `change` gets each one's number, header and payload, and gives the PES packets that take its place.
    Their clock references are lost, so the sender's pace must come from elsewhere."""
    units, packer, out, number = pes(packets, which), Packer(which), [], -1
    for packet in packets:
        if pid(packet) != which:
            out.append(packet)
        elif has_payload(packet) and starts(packet):
            number += 1
            clock = bytearray([0x47, which >> 8, which & 255, 0x20 | (packer.counter - 1 & 15)])
            if packet[3] & 0x20 and packet[4] >= 7 and packet[5] & 0x10:
                out.append(clock + bytes([183, 0x10]) + packet[6:12] + b"\xff" * 176)
            for data in change(number, *units[number]):
                out += packer.pack(data)
    return out


def add_stream(packets, which, kind, descriptors, make, program=b"", every=10):
    """Adds a stream: `make` gets its PES packet's number and the video's time there, and gives the PES packet."""
    map_pid, _ = tables(packets)
    main, packer, out, pictures = video(packets), Packer(which), [], 0
    for packet in packets:
        if pid(packet) == map_pid and starts(packet):
            packet = bytearray(packet)
            at, length = section(packet)
            body = bytes(packet[at:at + length - 4])
            body = body[:10] + (0xF000 | len(program)).to_bytes(2, "big") + program + body[12:]
            entry = bytes([kind]) + (0xE000 | which).to_bytes(2, "big") + (0xF000 | len(descriptors)).to_bytes(2, "big")
            put_section(packet, body + entry + descriptors)
        out.append(packet)
        if pid(packet) == main and starts(packet):
            pictures += 1
            if pictures % every == 0:
                at = payload_offset(packet)
                out += packer.pack(make(pictures // every, stamp(packet, at + 9)))
    return out


def clock(packet):
    """A packet's clock reference in seconds; None where it has none."""
    if not (packet[3] & 0x20 and packet[4] >= 7 and packet[5] & 0x10):
        return None
    return (packet[6] << 25 | packet[7] << 17 | packet[8] << 9 | packet[9] << 1 | packet[10] >> 7) / 90000


def send(packets, host, port, size=None, late=lambda due: due, out=None):
    """Sends packets over UDP at the pace of their clock references, in datagrams of so many bytes, of seven packets where none are given.
    Packets may be longer than 188 bytes. `late` says when what is due at a time is really sent."""
    size = size or 7 * len(packets[0])
    out = out or socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    begin, first, due, waiting = time.monotonic(), None, 0.0, b""
    for packet in packets:
        found = clock(packet[4:] if len(packet) == 192 else packet)
        if found is not None:
            first = found if first is None else first
            due = max(due, found - first)
        waiting += bytes(packet)
        while len(waiting) >= size:
            left = begin + late(due) - time.monotonic()
            if left > 0:
                time.sleep(left)
            out.sendto(waiting[:size], (host, port))
            waiting = waiting[size:]
    out.sendto(waiting, (host, port))
    out.close()
