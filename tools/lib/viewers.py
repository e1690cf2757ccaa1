#!/usr/bin/env python3
"""Viewers of a WHEP endpoint that throw away what they get, so that a stream has many at little cost.

    tools/lib/viewers.py http://127.0.0.1:8080/whep/call --count 7 --seconds 10

They are aiortc's peers up to SRTP: ICE with its consent checks, DTLS, and every packet decrypted. Then packets are only counted,
by their header. Nothing is decoded or asked for again, and there are no receiver reports: a viewer without them has no part in
the choice of the bit rate. The process has the lowest priority, as if it ran on another machine.

When each viewer has got a packet of video, a line of JSON says so. The end (SIGTERM, or --seconds) has a second line: what each
got, and which of its packets and pictures did not come. It ends with 1 when one got nothing, or nothing in the last second.
"""
import argparse
import asyncio
import json
import os
import signal
import struct
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import environment


def ask(method, url, token=None, body=None):
    """(body, headers) of the answer. Raises RuntimeError for any status that is no success."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if body:
        headers["Content-Type"] = "application/sdp"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body and body.encode(), headers, method=method), timeout=10) as answer:
            return answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url}: {error.code} {error.read().decode(errors='replace')[:300]}") from None


class Pictures:
    """What came of one stream of RTP, by its headers. Packets that are sent again have a source of their own, and do not count."""

    def __init__(self):
        self.source, self.numbers, self.stamps = None, set(), {}
        self.newest = self.newest_stamp = 0

    def take(self, data):
        number, stamp, source = struct.unpack_from("!xxHLL", data)
        if self.source is None:
            self.source, self.newest, self.newest_stamp = source, number, stamp
        if source != self.source:
            return
        unwrapped = self.newest + ((number - self.newest + 0x8000) % 0x10000 - 0x8000)
        shown = self.newest_stamp + ((stamp - self.newest_stamp + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000)
        self.newest, self.newest_stamp = max(self.newest, unwrapped), max(self.newest_stamp, shown)
        self.numbers.add(unwrapped)
        self.stamps.setdefault(shown, time.monotonic())

    def figures(self):
        """`came`: when the first packet of each picture came, seconds of the monotonic clock."""
        times = sorted(self.stamps)
        return {"pictures": len(times), "came": [round(self.stamps[each], 4) for each in times],
                "packets_lost": max(self.numbers) - min(self.numbers) + 1 - len(self.numbers) if self.numbers else 0,
                "longest_step_ms": round(max((b - a for a, b in zip(times, times[1:])), default=0) / 90, 1)}


class Viewer:
    """One peer connection. `packets` and `bytes` are those of RTP, after SRTP."""

    by_transport = {}

    def __init__(self, url, token=None):
        self.url, self.token, self.resource = url, token, None
        self.packets = self.bytes = 0
        self.pictures = Pictures()
        self.first = self.last = None
        self.has_begun = asyncio.Event()

    async def join(self, codec=None):
        """Offers to receive video, coded with `codec` only where that is given."""
        from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpReceiver, RTCSessionDescription

        self.peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        transceiver = self.peer.addTransceiver("video", "recvonly")
        if codec:
            wanted = (f"video/{codec}".lower(), "video/rtx")
            all = RTCRtpReceiver.getCapabilities("video").codecs
            transceiver.setCodecPreferences([each for each in all if each.mimeType.lower() in wanted])
        self.receiver = transceiver.receiver
        await self.peer.setLocalDescription(await self.peer.createOffer())
        self.asked = time.monotonic()
        answer, headers = await asyncio.to_thread(ask, "POST", self.url, self.token, self.peer.localDescription.sdp)
        self.resource = urllib.parse.urljoin(self.url, headers["Location"])
        self.by_transport[self.receiver.transport] = self
        await self.peer.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    def take(self, data):
        self.packets += 1
        self.bytes += len(data)
        self.pictures.take(data)
        self.last = time.monotonic()
        if self.first is None:
            self.first = self.last
            self.has_begun.set()

    async def leave(self):
        if self.resource:
            await asyncio.to_thread(ask, "DELETE", self.resource, self.token)
        await self.peer.close()


def throw_away():
    """Takes packets out of aiortc where they are decrypted and not yet parsed. No decoder starts."""
    from aiortc.rtcdtlstransport import RTCDtlsTransport
    import aiortc.rtcrtpreceiver

    async def handle(transport, data, arrival_time_ms):
        viewer = Viewer.by_transport.get(transport)
        if viewer:
            viewer.take(data)

    RTCDtlsTransport._handle_rtp_data = handle
    aiortc.rtcrtpreceiver.decoder_worker = lambda *_: None


async def watch(options):
    throw_away()
    viewers = [Viewer(options.url, options.token) for _ in range(options.count)]
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    try:
        for viewer in viewers:
            await viewer.join()
        await asyncio.wait_for(asyncio.gather(*(viewer.has_begun.wait() for viewer in viewers)), 15)
        print(json.dumps({"receiving": len(viewers), "first_packet_ms": [round((v.first - v.asked) * 1000, 1) for v in viewers]}), flush=True)
        begin, processor = time.monotonic(), time.process_time()
        before = [viewer.packets for viewer in viewers]
        try:
            await asyncio.wait_for(stopped.wait(), options.seconds)
        except asyncio.TimeoutError:
            pass
        end = time.monotonic()
        idle = [viewer for viewer in viewers if end - viewer.last > 1]
        print(json.dumps({
            "seconds": round(end - begin, 2), "packets": [v.packets - old for v, old in zip(viewers, before)],
            "bytes": [v.bytes for v in viewers], "silent": len(idle), "video": [v.pictures.figures() for v in viewers],
            "cores": round((time.process_time() - processor) / (end - begin), 3)}), flush=True)
        return 1 if idle else 0
    except (RuntimeError, OSError, asyncio.TimeoutError) as error:
        silent = sum(viewer.first is None for viewer in viewers)
        why = "nothing came within 15 s" if isinstance(error, asyncio.TimeoutError) else error
        print(json.dumps({"fault": f"{silent} of {len(viewers)} viewers got nothing: {why}"}), flush=True)
        return 1
    finally:
        await asyncio.gather(*(v.leave() for v in viewers if v.resource), return_exceptions=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="where viewers post their offers")
    parser.add_argument("--count", type=int, default=7)
    parser.add_argument("--seconds", type=float, help="until SIGTERM where not given")
    parser.add_argument("--token")
    options = parser.parse_args()
    environment.enter(environment.AIORTC)
    os.nice(19)
    sys.exit(asyncio.run(watch(options)))


if __name__ == "__main__":
    main()
