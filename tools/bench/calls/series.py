"""All measurements of docs/measurements/calls.md in one go: `compare-calls --all FOLDER`.

Each case is a run of a tool with its JSON in the folder. A case whose file is there is not run again, so a series that was
interrupted goes on. Then the tables are made of the files: what the page has can be compared with what a machine gives.
"""
import json
import os
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent.parent
BASE, NETWORKS = "burnish:tier=base", "burnish"
BASE_60, NETWORKS_60 = (f"burnish:{more}interpolate=2,lookahead=0" for more in ("tier=base,", ""))

# (name, title, tool, its arguments, rounds as a share of --rounds). The title of a case heads its table.
CASES = (
    ("h264", "H.264, clean network", "compare-calls", ["janus", BASE, NETWORKS, BASE_60, NETWORKS_60], 1),
    ("vp8", "VP8 from the publisher, clean network", "compare-calls", ["janus", BASE, NETWORKS, "--codec", "VP8"], 1),
    ("loss", "H.264, 2 % loss and 20 ms each way on both legs", "compare-calls",
     ["janus", BASE, NETWORKS, "--loss", "2%", "--delay", "20"], 1),
    ("viewers", "Eight viewers against one, H.264, clean network", "compare-calls", [BASE, f"{BASE},viewers=7"], 2),
    ("first-picture", "First picture of a viewer who joins", "compare-calls",
     ["janus", BASE, NETWORKS, "--seconds", "1", "--warm-up", "0.5"], 3),
    ("sound", "Sound beside pictures", "compare-calls", ["peers", "janus", BASE, "--sound"], 1),
    ("keyframe", "Keyframe after a PLI", "keyframe-answer", [each.replace("burnish", "srt") for each in (BASE, NETWORKS, BASE_60)], 0),
)


def run(folder, rounds, seconds, burnishd, only):
    folder.mkdir(parents=True, exist_ok=True)
    for name, title, tool, arguments, share in CASES:
        file = folder / f"{name}.json"
        if only and name not in only:
            continue
        if file.exists():
            print(f"{name}: {file} is there already", file=sys.stderr)
            continue
        more = ["--rounds", str(round(rounds * share)), *([] if "--seconds" in arguments else ["--seconds", f"{seconds:g}"])]
        unfinished = file.with_suffix(".part")
        command = [sys.executable, BENCH / tool, *arguments, *(more if share else []), "--burnishd", burnishd, "--json", unfinished]
        print(f"{name}: {title}", file=sys.stderr, flush=True)
        # A question without an answer is a figure, too.
        status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        if not unfinished.exists():
            raise RuntimeError(f"{name}: {tool} ended with {status}")
        os.replace(unfinished, file)
    text = tables(folder)
    (folder / "tables.md").write_text(text)
    return text


def tables(folder):
    parts = []
    for name, title, tool, _, _ in CASES:
        file = folder / f"{name}.json"
        if file.exists():
            found = json.loads(file.read_text())
            parts.append(f"**{title}**{circumstances(found)}\n\n{KINDS.get(name, latencies)(found)}")
    return "\n\n".join(parts) + "\n"


def circumstances(found):
    runs = [run for each in found["runs"].values() for run in each] if "runs" in found else list(found.values())
    taken = sum(run["stolen_ms"] for run in runs) / sum(run["took_ms"] for run in runs) / (os.cpu_count() or 1)
    loads = sorted(run["load"] for run in runs)
    several = f"{len(next(iter(found['runs'].values())))} rounds of {found['options']['seconds']:g} s; " if "runs" in found else ""
    silent = sum(run.get("silent_runs", 0) for run in runs)
    repeated = f"; {silent} repeated because no picture came" if silent else ""
    return f" ({several}the host took {taken:.1%}; load average {loads[0]:.1f} to {loads[-1]:.1f}{repeated})"


def grid(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def number(value, form="{:.1f}"):
    return "–" if value is None else form.format(value)


def ms(values, keys=("p50", "p95", "p99")):
    return [number(values[key]) for key in keys]


def latencies(found):
    janus = found["chains"].get("janus")

    def over(each):
        if not janus or each is janus:
            return "–"
        pairs = [(each["latency_ms"][key], janus["latency_ms"][key]) for key in ("p50", "p99")]
        return " / ".join(number(None if None in pair else pair[0] - pair[1], "{:+.1f}") for pair in pairs)

    rows = [[f"`{name}`", *ms(each["latency_ms"]), over(each), f"{each['seen'] / each['sent']:.1%}", each["freezes"],
             each["pictures"]["synthesised"] + each["pictures"]["repeated"], number(each["pictures_per_second"]),
             number(each.get("share_by_networks"), "{:.0%}"), number(each["first_picture_ms"], "{:.0f}")]
            for name, each in found["chains"].items()]
    return grid(["chain", "p50", "p95", "p99", "over Janus, p50 / p99", "frames seen", "freezes", "other pictures", "pictures/s",
                 "networks on changed tiles", "first picture"], rows)


def viewers(found):
    rows = []
    for name, each in found["chains"].items():
        watched = [run["viewers"] for run in found["runs"][name] if "viewers" in run]
        packets = [count / w["seconds"] for w in watched for count in w["packets"]]
        rows.append([f"`{name}`", *ms(each["latency_ms"]), f"{each['seen'] / each['sent']:.1%}", each["freezes"],
                     f"{min(packets):.0f} to {max(packets):.0f}" if packets else "–",
                     number(max((w["cores"] for w in watched), default=None), "{:.2f}")])
    return grid(["chain", "p50", "p95", "p99", "frames seen", "freezes", "packets/s of each other viewer", "their cores together"], rows)


def first_picture(found):
    rows = []
    for name, runs in found["runs"].items():
        values = sorted(run["first_picture_ms"] for run in runs)
        rows.append([f"`{name}`", len(values), number(values[0], "{:.0f}"), number(found["chains"][name]["first_picture_ms"], "{:.0f}"),
                     number(values[-1], "{:.0f}")])
    return grid(["chain", "joins", "least", "median", "most"], rows)


def sound(found):
    rows = [[f"`{name}`", *ms(each["sound"]["ms"], ("p50", "p95", "max")), *ms(each["sound"]["after_picture_ms"], ("p50", "p95", "max")),
             number(each["sound"]["jitter_buffer_ms"]["mean"]), f"{each['sound']['tones_heard']} of {each['sound']['tones_sent']}"]
            for name, each in found["chains"].items()]
    return grid(["chain", "sound p50", "p95", "max", "after the picture p50", "p95", "max", "jitter buffer", "tones heard"], rows)


def keyframe(found):
    rows = [[f"`{name}`", each["questions"], *ms(each.get("ms") or dict.fromkeys(("median", "p95", "max")), ("median", "p95", "max")),
             ", ".join(f"{n}: {count}" for n, count in each.get("pictures_between", {}).items()), each["unanswered"]]
            for name, each in found.items()]
    return grid(["chain", "PLIs", "median", "p95", "max", "pictures between", "unanswered"], rows)


KINDS = {"viewers": viewers, "first-picture": first_picture, "sound": sound, "keyframe": keyframe}
