"""Makes figures and a plot of what the page recorded.

The page reads every picture twice: as it leaves the decoder, and as it comes to the screen. Latency is glass to glass: from the
moment a frame is drawn until the picture that shows it is composed for the screen. What was lost, repeated or synthesised is
counted at the decoder, because a busy or slow screen leaves out pictures that the chain has delivered.

Every picture is one of these:

captured     It shows the intact time code of a frame that was not seen before.
repeated     It shows the intact code of a frame that was seen before. A picture that was extrapolated from one frame, with the
             code's place left as it was, is one of these, too.
synthesised  It mixes two frames: at least four cells of its code (six where the CRC is right by chance) are neither black nor
             white, that is between 20 and 80 % of the way. Its number is never used. An interpolated picture closer than a fifth
             of the interval to a captured frame cannot be told from that frame.
damaged      Its code is black and white, but its CRC is wrong: patched together from two frames, or coded too coarsely.
absent       It shows no code.

A frame that was sent and is never `captured` is lost, whatever was synthesised in its place.

Sound is timed by the browser's own stamps, from the sample that the page makes until it leaves the receiver's jitter buffer (not
until it is heard: the sound card's buffer comes on top, and a screen has its own). `after_picture_ms` is how much longer a tone
took than the picture that was drawn nearest to it.
"""
import bisect
import math
import statistics

# What the statistics of the browser count (W3C's "Identifiers for WebRTC's Statistics API").
RECEIVED = ("framesReceived", "framesDecoded", "framesDropped", "keyFramesDecoded", "freezeCount", "totalFreezesDuration",
            "packetsReceived", "packetsLost", "packetsDiscarded", "nackCount", "pliCount", "firCount", "bytesReceived",
            "retransmittedPacketsReceived", "totalDecodeTime", "jitterBufferDelay", "jitterBufferEmittedCount")
HEARD = ("packetsReceived", "packetsLost", "packetsDiscarded", "bytesReceived", "totalSamplesReceived", "concealedSamples",
         "silentConcealedSamples", "concealmentEvents", "insertedSamplesForDeceleration", "removedSamplesForAcceleration",
         "jitterBufferDelay", "jitterBufferTargetDelay", "jitterBufferMinimumDelay", "jitterBufferEmittedCount")
SENT = ("framesEncoded", "framesSent", "packetsSent", "retransmittedPacketsSent", "bytesSent", "nackCount", "pliCount", "firCount",
        "totalEncodeTime")


def percentile(values, share):
    """By nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def distribution(values):
    return {"count": len(values), "min": min(values, default=None), "p50": percentile(values, 0.5), "p95": percentile(values, 0.95),
            "p99": percentile(values, 0.99), "max": max(values, default=None)}


def differences(before, later, names):
    if not later:
        return None
    return {name: round(later[name] - before.get(name, 0), 6) for name in names if name in later}


class Pictures:
    """The pictures that one reader saw. `offset` is how far its clock is before that of the source, in ms."""

    def __init__(self, records, begin, end, offset):
        self.kinds = {"captured": 0, "repeated": 0, "synthesised": 0, "damaged": 0, "absent": 0}
        self.first, self.late, self.sizes, highest = {}, 0, set(), None
        for record in records:
            kind, number, is_inside = record["kind"], record["number"], begin <= record["at"] < end
            if is_inside:
                self.sizes.add(record["size"])
            if kind != "code":
                self.kinds["synthesised" if kind == "blended" else kind] += is_inside
                continue
            # Numbers have 16 bits; the true one is the nearest to the highest so far.
            if highest is not None:
                number = highest + (number - highest + 0x8000) % 0x10000 - 0x8000
            if number in self.first:
                self.kinds["repeated"] += is_inside
                continue
            self.late += is_inside and highest is not None and number < highest
            highest = number if highest is None else max(highest, number)
            self.kinds["captured"] += is_inside
            self.first[number] = (record["captured"] + offset, record["at"])
        self.begin, self.end = begin, end

    def latencies(self):
        """Of the frames captured in the measured time, by number."""
        return {n: at - captured for n, (captured, at) in self.first.items() if self.begin <= captured < self.end}


# Tones come every half second, and a pitch again after four seconds: a tone is not later than this.
LATEST_TONE = 3000


def tones(record):
    """(when it was made, how long it took) of every tone that was heard, in ms; the first by the page's clock."""
    sound = record["sound"]
    found = []
    for heard in sound["heard"]:
        if sound["played"] is None:
            # `burnish testsrc --audio beep` begins a beep with every whole second of its clock, which is the driver's.
            ahead = record["offset"] - sound["stampsBehind"]
            made = (heard["at"] - ahead) // 1000 * 1000 + ahead
        else:
            made = max((p["at"] for p in sound["played"] if p["tone"] == heard["tone"] and p["at"] <= heard["at"]), default=None)
            if made is None:
                continue
        if heard["at"] - made < LATEST_TONE:
            found.append((made + sound["stampsBehind"], heard["at"] - made))
    return found


def sound_figures(record, shown):
    """Of the tones that were made in the measured time. `shown` are the pictures of the screen."""
    begin, end = record["begin"], record["end"]
    frames = sorted((captured, at - captured) for captured, at in shown.first.values())
    times, delays, differences_ = [captured for captured, _ in frames], [], []
    for made, took in tones(record):
        if not begin <= made < end:
            continue
        delays.append(round(took, 2))
        near = [frames[i] for i in (bisect.bisect(times, made) - 1, bisect.bisect(times, made)) if 0 <= i < len(frames)]
        captured, picture = min(near, key=lambda frame: abs(frame[0] - made), default=(None, None))
        if captured is not None and abs(captured - made) < 200:
            differences_.append(round(took - picture, 2))
    played = record["sound"]["played"]
    receiver = differences(record["before"]["heard"], record["later"]["heard"], HEARD) or {}
    emitted = receiver.get("jitterBufferEmittedCount")
    buffer = {name: round(receiver[key] / emitted * 1000, 1) if emitted and key in receiver else None for name, key in (
        ("mean", "jitterBufferDelay"), ("target", "jitterBufferTargetDelay"), ("minimum", "jitterBufferMinimumDelay"))}
    return {"tones_sent": played and sum(begin <= p["at"] + record["sound"]["stampsBehind"] < end for p in played),
            "tones_heard": len(delays), "ms": distribution(delays), "after_picture_ms": distribution(differences_),
            "jitter_buffer_ms": buffer, "codec": record["later"]["heard"].get("codec"), "receiver": receiver}


def longest_pause(record):
    """The longest time in ms between two pictures that left the decoder in the measured time."""
    times = sorted(each["at"] for each in record["decoded"] if record["begin"] <= each["at"] < record["end"])
    return round(max((b - a for a, b in zip(times, times[1:])), default=0), 1)


def staircase(link):
    """How a link was used whose rate changes: overall and for each step. A step down is followed when what comes in half a second is no
    more than the link carries; a step up when it carries 80 % of its rate for a second. None: not in this step."""
    def step(number, rate):
        begin, end = number * link.step, (number + 1) * link.step
        inside = [each for each in link.datagrams if begin <= each[0] < end]
        passed = [(second, size) for second, size, wait in inside if wait is not None]
        offered = [(second, size) for second, size, _ in inside]
        before = link.rates[number - 1] if number else rate

        def first(datagrams, window, holds):
            for tick in range(int((link.step - window) * 20) + 1):
                at = begin + tick / 20
                bits = sum(8 * size for second, size in datagrams if at <= second < at + window)
                if holds(bits / window):
                    return round(at - begin, 2)
            return None

        followed = None
        if rate < before:
            followed = first(offered, 0.5, lambda bits: bits <= rate)
        elif rate > before:
            followed = first(passed, 1, lambda bits: bits >= 0.8 * rate)
        waits = [wait for _, _, wait in inside if wait is not None]
        return {"rate": rate, "followed_s": followed, "use": round(sum(8 * size for _, size in passed) / link.step / rate, 3),
                "queue_ms": {key: value and round(1000 * value, 1) for key, value in distribution(waits).items() if key != "count"},
                "dropped": len(inside) - len(passed)}

    steps = [step(*each) for each in enumerate(link.rates)]
    end = len(link.rates) * link.step
    waits = [wait for second, _, wait in link.datagrams if 0 <= second < end and wait is not None]
    return {"steps": steps, "use": round(sum(s["use"] * s["rate"] for s in steps) / sum(link.rates), 3),
            "queue_p95_ms": round(1000 * (percentile(waits, 0.95) or 0), 1)}


def figures(record):
    """The figures of one run; times in milliseconds. `record` is what `measure` of page.js returns."""
    begin, end = record["begin"], record["end"]
    # The page's clock is the source's where the page is the source.
    offset = 0 if record["sent"] else record["offset"]
    decoded = Pictures(record["decoded"], begin, end, offset)
    shown = Pictures(record["shown"], begin, end, offset)
    until_decoded, until_shown = decoded.latencies(), shown.latencies()
    if record["sent"]:
        sent = {number for number, captured in record["sent"] if begin <= captured < end}
    else:
        sent = set(range(min(until_decoded), max(until_decoded) + 1)) if until_decoded else set()
    seen = sent & (until_decoded.keys() | until_shown.keys())
    received = differences(record["before"]["received"], record["later"]["received"], RECEIVED)
    sender = record["later"]["sent"]
    latencies = [round(latency, 2) for latency in until_shown.values()]
    return {
        "seconds": round((end - begin) / 1000, 3), "codec": record["later"]["received"].get("codec"), "sizes": sorted(decoded.sizes),
        "sent": len(sent), "seen": len(seen), "lost": len(sent - seen), "out_of_order": decoded.late,
        "not_on_screen": len(seen - until_shown.keys()), "pictures": decoded.kinds,
        "pictures_per_second": round(sum(decoded.kinds.values()) / (end - begin) * 1000, 2),
        "pictures_on_screen": shown.kinds,
        "latency_ms": distribution(latencies), "until_decoded_ms": distribution([round(v, 2) for v in until_decoded.values()]),
        "first_picture_ms": round(record["firstPicture"], 1), "longest_pause_ms": longest_pause(record),
        "freezes": received.get("freezeCount", 0), "frozen_ms": received.get("totalFreezesDuration", 0) * 1000,
        **({"poor": differences(record["before"]["poor"], record["later"]["poor"], RECEIVED) | {
            "width": record["later"]["poor"].get("frameWidth")}} if record["before"].get("poor") else {}),
        **({"sound": sound_figures(record, shown)} if record.get("sound") else {}),
        "receiver": received, "sender": differences(record["before"]["sent"], sender, SENT), "latencies_ms": latencies,
    }


def summary(runs):
    """Of one chain: medians over its runs, and sums of what is counted."""
    def median(*path):
        values = []
        for run in runs:
            for key in path:
                run = run[key]
            values.append(run)
        return round(statistics.median(values), 1) if all(v is not None for v in values) else None

    total = {name: sum(run[name] for run in runs) for name in ("sent", "seen", "lost", "not_on_screen", "freezes")}
    pictures = {name: sum(run["pictures"][name] for run in runs) for name in runs[0]["pictures"]}
    latency = {name: median("latency_ms", name) for name in ("p50", "p95", "p99", "max")}
    decoded = {name: median("until_decoded_ms", name) for name in ("p50", "p95", "p99", "max")}
    tiles = {name: sum(run["burnish"][name] for run in runs) for name in ("changed_tiles", "tiles_by_networks")} if "burnish" in runs[0] else {}
    if tiles:
        tiles["share_by_networks"] = round(tiles["tiles_by_networks"] / tiles["changed_tiles"], 4) if tiles["changed_tiles"] else None
    sound = {"sound": {
        "tones_sent": sum(run["sound"]["tones_sent"] or 0 for run in runs), "tones_heard": sum(run["sound"]["tones_heard"] for run in runs),
        **{name: {key: median("sound", name, key) for key in ("min", "p50", "p95", "max")} for name in ("ms", "after_picture_ms")},
        "jitter_buffer_ms": {key: median("sound", "jitter_buffer_ms", key) for key in ("mean", "target", "minimum")},
    }} if "sound" in runs[0] else {}
    return {"runs": len(runs), **total, **tiles, **sound, "frozen_ms": round(sum(run["frozen_ms"] for run in runs), 1), "pictures": pictures,
            "latency_ms": latency, "until_decoded_ms": decoded, "first_picture_ms": median("first_picture_ms"),
            "pictures_per_second": median("pictures_per_second")}


COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a")


def plot(latencies, title):
    """An SVG: for each chain, the share of the frames that were seen within a time. `latencies` has all runs' by chain."""
    width, height, left, top, right, bottom = 760, 420, 60, 40, 20, 50
    longest = max((percentile(values, 0.995) for values in latencies.values() if values), default=10)
    step = next(s for s in (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if longest / s <= 10 or s == 5000)
    most = step * math.ceil(longest * 1.05 / step)
    x = lambda ms: left + (width - left - right) * min(ms, most) / most
    y = lambda share: top + (height - top - bottom) * (1 - share)
    text = lambda at, down, what, more="": f'<text x="{at:.1f}" y="{down:.1f}" {more}>{what}</text>'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>', text(left, 22, title, 'font-size="15"')]
    for tick in range(0, most + 1, step):
        out.append(f'<path d="M{x(tick):.1f} {top}V{height - bottom}" stroke="#ddd"/>')
        out.append(text(x(tick), height - bottom + 18, tick, 'text-anchor="middle"'))
    for share in (0, 0.25, 0.5, 0.75, 0.95, 0.99):
        out.append(f'<path d="M{left} {y(share):.1f}H{width - right}" stroke="#ddd"/>')
        if share != 0.99:
            out.append(text(left - 6, y(share) + 4, f"{share:.0%}", 'text-anchor="end"'))
    out.append(text((left + width - right) / 2, height - 10, "glass to glass, ms", 'text-anchor="middle"'))
    for index, (name, values) in enumerate(latencies.items()):
        colour, ordered = COLOURS[index % len(COLOURS)], sorted(values)
        points = [(x(v), y((i + 1) / len(ordered))) for i, v in enumerate(ordered)]
        if points:
            path = f"M{points[0][0]:.1f} {y(0):.1f}" + "".join(f"H{px:.1f}V{py:.1f}" for px, py in points)
            out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out.append(text(width - right - 6, height - bottom - 12 - 16 * (len(latencies) - 1 - index), name,
                        f'text-anchor="end" fill="{colour}" font-weight="bold"'))
    return "\n".join([*out, "</svg>", ""])
