#!/usr/bin/env python3
"""Publishes a picture in several sizes by WHIP as OBS 32 does: its offer, its packets, and no answer to requests for keyframes.

    tools/lib/field/obs_publisher.py URL LARGEST.h264 NEXT.h264 … [--fps 15] [--seconds 10] [--largest SECONDS]

Each file is sent again and again as one layer, in real time from the answer on. What comes before the connection is there is lost, as in
OBS, the first keyframe too. After `--largest` seconds that layer stops. aiortc has ICE, DTLS and SRTP; it comes from PyPI into .venv.
"""
import argparse
import asyncio
import pathlib
import random
import re
import struct
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import environment
from field import h264
from field.rtp_sender import NTP_EPOCH, plain
from viewers import ask


def offer(own, sources, layers):
    """What libdatachannel, of OBS, writes, with the transport of `own`, a description of aiortc's. One size has a source, several have names."""
    value = lambda name: re.search(rf"^a={name}:(.*?)\r?$", own, re.M).group(1)
    transport = ["a=setup:actpass", f"a=ice-ufrag:{value('ice-ufrag')}", f"a=ice-pwd:{value('ice-pwd')}"]
    named = lambda source: [f"a=ssrc:{source} cname:qfoPmFgvQOhTzSpg", f"a=ssrc:{source} msid:qfoPmFgvQOhTzSpg qfoPmFgvQOhTzSpg-track"]
    track = "a=msid:qfoPmFgvQOhTzSpg qfoPmFgvQOhTzSpg-track"
    several = [*(f"a=rid:{name} send" for name in range(layers)), f"a=simulcast:send {';'.join(map(str, range(layers)))}"]
    return "\r\n".join([
        "v=0", f"o=rtc {random.getrandbits(31)} 0 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=group:LS 0 1",
        "a=msid-semantic:WMS *", "a=ice-options:ice2 trickle", f"a=fingerprint:{value('fingerprint')}",
        "m=audio 9 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0", "a=mid:0", "a=sendonly", *named(sources[0]), track, "a=rtcp-mux",
        "a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;maxaveragebitrate=96000;stereo=1;sprop-stereo=1;useinbandfec=1", *transport,
        "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", "a=mid:1", "a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid",
        "a=extmap:2 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id", "a=sendonly", *(named(sources[1]) if layers == 1 else []), track,
        *(several if layers > 1 else []), "a=rtcp-mux", "a=rtpmap:96 H264/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
        "a=rtcp-fb:96 goog-remb", "a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1", *transport, ""])


class Layer:
    """One size of the picture: packets with its name, and reports."""

    def __init__(self, name, source, file):
        self.name, self.source = name, source
        self.pictures = h264.pictures(file.read_bytes())
        self.number, self.begin = random.getrandbits(16), random.getrandbits(32)
        self.packets = self.bytes = 0

    def send(self, index, ticks):
        """The packets of a picture."""
        # One-byte header extensions (RFC 8285): 1 is the section's name, 2 the layer's where there are several.
        extension = b"\xbe\xde\0\1" + bytes([0x10, ord("1"), *([0x20, ord(self.name)] if self.name else [0, 0])])
        for each in plain(self.pictures[index % len(self.pictures)]):
            header = struct.pack(
                ">BBHII", 0x90, each.marked << 7 | 96, self.number & 0xFFFF, self.begin + ticks & 0xFFFFFFFF, self.source)
            self.number += 1
            self.packets += 1
            self.bytes += len(each.bytes)
            yield header + extension + each.bytes

    def report(self, ticks):
        ntp = int((time.time() + NTP_EPOCH) * (1 << 32)) & (1 << 64) - 1
        return struct.pack(
            ">BBHIQIII", 0x80, 200, 6, self.source, ntp, self.begin + ticks & 0xFFFFFFFF, self.packets, self.bytes)


async def publish(options):
    from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

    peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    for kind in ("audio", "video"):
        peer.addTransceiver(kind, "sendonly")
    await peer.setLocalDescription(await peer.createOffer())
    first = random.getrandbits(30)
    layers = [Layer(str(place) if len(options.files) > 1 else None, first + 1 + place, file) for place, file in enumerate(options.files)]
    text = offer(peer.localDescription.sdp, (first, first + 1), len(layers))
    print("offers", flush=True)
    answer, headers = await asyncio.to_thread(ask, "POST", options.url, None, text)
    await peer.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    # All sections have the first one's transport.
    transport = peer.getTransceivers()[0].sender.transport
    begin, next_report = time.monotonic(), 0.0
    try:
        for index in range(round(options.seconds * options.fps)):
            await asyncio.sleep(max(0, begin + index / options.fps - time.monotonic()))
            moment = index / options.fps
            if options.largest is not None and moment >= options.largest and len(layers) == len(options.files):
                del layers[0]
                print("the largest stops", flush=True)
            packets = [packet for layer in layers for packet in layer.send(index, round(moment * 90000))]
            if moment >= next_report:
                next_report = moment + 1
                packets += [layer.report(round(moment * 90000)) for layer in layers]
            for packet in packets if transport.state == "connected" else []:
                await transport._send_rtp(packet)
    finally:
        await asyncio.to_thread(ask, "DELETE", urllib.parse.urljoin(options.url, headers["Location"]))
        await peer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="where the offer is posted")
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="H.264 byte streams, the largest picture first")
    parser.add_argument("--fps", type=float, default=15)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--largest", type=float, help="for how many seconds the first layer is sent; all of them otherwise")
    options = parser.parse_args()
    environment.enter(environment.AIORTC)
    asyncio.run(publish(options))


if __name__ == "__main__":
    main()
