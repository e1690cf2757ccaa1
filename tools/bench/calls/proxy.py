"""A UDP proxy that stands in an ICE candidate's place and treats datagrams as a bad network does, both ways.

Every client gets a socket of its own towards the target, so that ICE sees one path for each. The fates of both directions are
drawn from a seed: the same datagrams in the same order have the same fates.
"""
import heapq
import math
import random
import re
import select
import socket
import threading
import time

# Bits a second of 45 seconds of T-Mobile's LTE uplink to a phone in a car: means of TMobile-LTE-short.up, Mahimahi's form of a trace of
# Winstein, Sivaraman, Balakrishnan: Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks (NSDI 2013).
LTE = [1e6 * rate for rate in (
    3.5, 3.8, 4.3, 4.3, 5.4, 6.2, 7.0, 8.3, 7.1, 6.0, 3.2, 4.7, 2.8, 2.7, 1.6, 2.3, 4.5, 5.8, 1.9, 2.0, 0.6, 3.3, 1.7,
    2.5, 4.8, 2.5, 2.8, 3.5, 2.9, 4.9, 9.5, 6.7, 5.4, 7.1, 6.2, 8.0, 11.3, 7.9, 6.8, 7.6, 9.5, 8.7, 7.9, 9.0, 9.6)]


class Staircase:
    """A link whose rate changes every `step` seconds, and then stays. Its queue drops what would wait longer than `queue` seconds.
    The steps begin with `start`; before it the first rate holds."""

    def __init__(self, rates, step, queue=0.5):
        self.rates, self.step, self.queue = rates, step, queue
        self.begin, self.free = math.inf, 0.0
        # (second, bytes, how many seconds it waited for others; None where it was dropped) of each datagram.
        self.datagrams = []

    def start(self, at):
        self.begin = at

    def rate(self, second):
        """Bits a second, so many seconds after the begin."""
        return self.rates[min(int(second / self.step), len(self.rates) - 1) if second > 0 else 0]

    def carry(self, size, now):
        """When the datagram has passed; None where it is dropped."""
        wait, second = max(0.0, self.free - now), now - self.begin
        if wait > self.queue:
            self.datagrams.append((second, size, None))
            return None
        self.datagrams.append((second, size, wait))
        self.free = now + wait + size * 8 / self.rate(second + wait)
        return self.free


class Direction:
    """Draws what becomes of each datagram that goes one way."""

    def __init__(self, loss, delay, jitter, seed, link=None):
        self.loss, self.delay, self.jitter, self.random, self.last = loss, delay, jitter, random.Random(seed), 0.0
        self.link = link

    def due(self, now, size):
        """When the datagram is to be delivered; None when it is lost. The order is kept."""
        # Always two draws, so that one fate does not move all later ones.
        lost, late = self.random.random() < self.loss, self.random.random()
        # What is lost behind a link has used it.
        passed = self.link.carry(size, now) if self.link else now
        if lost or passed is None:
            return None
        self.last = max(self.last, passed + self.delay + self.jitter * late)
        return self.last


class Proxy:
    """Forwards between whoever sends to `port` and one target, on a thread of its own, until it is closed."""

    def __init__(self, host, port, loss, delay, jitter, seed, link=None):
        self.target = (host, port)
        self.entrance = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.entrance.bind((host, 0))
        self.port = self.entrance.getsockname()[1]
        self.up = Direction(loss, delay, jitter, 2 * seed)
        self.down = Direction(loss, delay, jitter, 2 * seed + 1, link)
        self.sockets, self.waiting, self.order = {}, [], 0
        self.forwarded = self.lost = 0
        self.is_open = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.is_open = False
        self.thread.join()
        for each in [self.entrance, *self.sockets.values()]:
            each.close()

    def run(self):
        while self.is_open:
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                _, _, send, data, to = heapq.heappop(self.waiting)
                self.forwarded += 1
                try:
                    send(data, to) if to else send(data)
                except OSError:
                    pass  # The other end has closed its port: a network would not say so either.
            wait = min(0.05, self.waiting[0][0] - now) if self.waiting else 0.05
            back = {each.fileno(): client for client, each in self.sockets.items()}
            for number in select.select([self.entrance.fileno(), *back], [], [], max(0, wait))[0]:
                self.receive(back.get(number))

    def receive(self, client):
        try:
            if client is None:
                data, client = self.entrance.recvfrom(65536)
                if client not in self.sockets:
                    self.sockets[client] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    self.sockets[client].connect(self.target)
                self.enqueue(self.up, self.sockets[client].send, data, None)
            else:
                self.enqueue(self.down, self.entrance.sendto, self.sockets[client].recv(65536), client)
        except OSError:
            pass  # An ICMP answer to an earlier datagram.

    def enqueue(self, direction, send, data, to):
        due = direction.due(time.monotonic(), len(data))
        if due is None:
            self.lost += 1
            return
        self.order += 1
        heapq.heappush(self.waiting, (due, self.order, send, data, to))


class Impairment:
    """The proxies of one run.

    With `link` (a Staircase) the way to whoever watches has a rate. Its rates count from the first datagram that comes there."""

    def __init__(self, loss=0.0, delay=0.0, jitter=0.0, seed=1, link=None):
        self.arguments, self.seed, self.proxies, self.link = (loss, delay, jitter), seed, [], link
        self.is_on = bool(loss or delay or jitter or link)

    def offer(self, sdp):
        """An offer without candidates: the server must not learn a way around the proxy."""
        if not self.is_on:
            return sdp
        return "".join(line for line in sdp.splitlines(True) if not line.startswith(("a=candidate:", "a=end-of-candidates")))

    def answer(self, sdp, watches=True):
        """An answer whose candidates are all replaced by one: a proxy before the first that UDP over IPv4 can reach."""
        if not self.is_on:
            return sdp
        found = re.search(r"a=candidate:\S+ 1 udp \d+ (\d+\.\d+\.\d+\.\d+) (\d+) typ host", sdp, re.IGNORECASE)
        if not found:
            raise RuntimeError("the answer has no host candidate for UDP over IPv4 to put a proxy before")
        host, port = found[1], int(found[2])
        proxy = Proxy(host, port, *self.arguments, self.seed * 1000 + len(self.proxies), self.link if watches else None)
        self.proxies.append(proxy)
        line = f"a=candidate:1 1 udp 2130706431 {host} {proxy.port} typ host\r\n"
        before, *media = re.split(r"(?m)^(?=m=)", self.offer(sdp))
        return before + "".join(section + line for section in media)

    def settle(self, seconds):
        """What is measured begins so many seconds from now."""
        if self.link:
            self.link.start(time.monotonic() + seconds)

    def close(self):
        """Ends the proxies; how many datagrams they forwarded and lost."""
        for proxy in self.proxies:
            proxy.close()
        return {"forwarded": sum(p.forwarded for p in self.proxies), "lost": sum(p.lost for p in self.proxies)}
