"""What a call's receiver hears: packets of Opus in plain RTP, decoded by libopus."""
import array, ctypes, math, socket, struct, threading

from ports import free_ports
from . import multiplex as ts

PACKET = 480  # samples of 48 kHz in what Burnish makes


class Decoder:
    """libopus, as each program with FFmpeg has it."""

    def __init__(self):
        self.library = ctypes.CDLL("libopus.so.0")
        self.library.opus_decoder_create.restype = ctypes.c_void_p
        self.library.opus_decoder_destroy.argtypes = [ctypes.c_void_p]
        self.library.opus_decode.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        self.state = self.library.opus_decoder_create(48000, 2, ctypes.byref(ctypes.c_int()))

    def loudness(self, packet):
        """The samples of a packet and their root mean square, of 1 at most; none for what cannot be decoded."""
        room = (ctypes.c_int16 * (2 * 5760))()
        count = self.library.opus_decode(self.state, packet, len(packet), room, 5760, 0)
        if count <= 0:
            return 0, 0.0
        samples = array.array("h", bytes(room)[:4 * count])
        return count, math.sqrt(sum(each * each for each in samples) / len(samples)) / 32768

    def close(self):
        self.library.opus_decoder_destroy(self.state)


class Ear:
    """Listens where an output sends a call's sound to."""

    def __init__(self, lab):
        self.packets = []
        while True:
            self.port = free_ports(2)
            try:
                self.sockets = [self.bound(self.port + number) for number in range(4)]
                break
            except OSError:
                continue
        self.output = f"{lab.path('out.sdp')}?to=127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    @staticmethod
    def bound(port):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("127.0.0.1", port))
        return one

    def read(self):
        while packet := self.sockets[2].recv(4096):
            stamp = struct.unpack_from(">I", packet, 4)[0]
            self.packets.append((stamp, packet[12 + 4 * (packet[0] & 15):]))

    def close(self):
        """Ends with an empty datagram, which nobody else sends."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.sendto(b"", ("127.0.0.1", self.port + 2))
        self.thread.join(5)
        for each in self.sockets:
            each.close()

    def heard(self):
        """Seconds of a tone, seconds of all, and gaps in the time stamps, in seconds."""
        decoder, loud, total, gaps, next_stamp = Decoder(), 0, 0, [], None
        for stamp, payload in self.packets:
            count, mean = decoder.loudness(payload)
            total += count
            loud += count * (mean > 0.01)
            if next_stamp is not None and stamp != next_stamp:
                gaps.append(((stamp - next_stamp + (1 << 31) & 0xFFFFFFFF) - (1 << 31)) / 48000)
            next_stamp = stamp + count & 0xFFFFFFFF
        decoder.close()
        return loud / 48000, total / 48000, gaps


def call(lab, packets, *options):
    """Relays packets into a call: what is heard of it."""
    ear = Ear(lab)
    ts.write(lab.path("in.ts"), packets)
    relay = lab.relay(lab.path("in.ts"), ear.output, "--budget", "1s", "--tier", "base", *options)
    code = relay.process.wait(300)
    lab.want(code == 0, f"exit {code}: {relay.text()[-300:]}")
    lab.events = relay.text()
    ear.close()
    return ear.heard()
