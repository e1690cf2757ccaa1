"""What the rows of tools/check/field share: where the programs are, how a relay is run, how a result is looked at."""
import dataclasses, importlib, json, pathlib, pkgutil, shutil, signal, subprocess, sys, threading, time
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass
class Row:
    """One thing that is sent: `run` makes it, relays it, reports what it finds, and returns a short text of what came out."""

    name: str
    sent: str
    right: str
    run: Callable[["Lab"], str]


def groups():
    """The rows of each module of this package that has some, by the module's name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        rows = getattr(importlib.import_module(f"{__name__}.{module.name}"), "ROWS", None)
        if rows:
            found[module.name] = rows
    return found


class Running:
    """A program in the background and the lines that it has printed."""

    def __init__(self, command, **options):
        self.lines = []
        self.more = threading.Condition()
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", **options)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self.more:
                self.lines.append(line.rstrip("\n"))
                self.more.notify_all()
        with self.more:
            self.lines.append(None)
            self.more.notify_all()

    def wait_for(self, text, seconds=30):
        """The first line that holds `text`; an error where the program ends, or says nothing like it, before."""
        end = time.monotonic() + seconds
        with self.more:
            while True:
                for line in self.lines:
                    if line is not None and text in line:
                        return line
                left = end - time.monotonic()
                if left <= 0 or (self.lines and self.lines[-1] is None):
                    raise RuntimeError(f"no line with '{text}':\n" + "\n".join(filter(None, self.lines)))
                self.more.wait(left)

    def text(self):
        with self.more:
            return "\n".join(line for line in self.lines if line is not None)

    def stop(self, seconds=30):
        """Ends the program as a user would, with SIGINT, and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Lab:
    """What one row works with: a folder of its own, the programs, and the faults that it found."""

    def __init__(self, folder, programs=None):
        self.folder = folder
        self.programs = programs or ROOT / ".build/release"
        self.faults = []
        self.running = []
        for name in ("ffmpeg", "ffprobe"):
            if not shutil.which(name):
                print(f"tools/check/field: {name} is missing: tools/install-needs test installs it", file=sys.stderr)
                sys.exit(69)

    def path(self, name):
        return self.folder / name

    def want(self, holds, fault):
        """Notes a fault where something that is right does not hold."""
        if not holds:
            self.faults.append(fault)

    def ffmpeg(self, *arguments):
        subprocess.run(
            ["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True, stdin=subprocess.DEVNULL)

    def start(self, command, **options):
        running = Running(command, **options)
        self.running.append(running)
        return running

    def relay(self, source, output, *options):
        """A relay in the background; its report is at `report.json` once it has ended."""
        return self.start([
            self.programs / "burnish", "relay", "--input", source, "--output", output, "--quiet", "--report",
            self.path("report.json"), *options])

    def report(self):
        """The ended relay's report."""
        return json.loads(self.path("report.json").read_text())

    def enhance(self, source, output, *options):
        """`burnish enhance`, to its end: its exit code and what it printed."""
        done = subprocess.run(
            [str(self.programs / "burnish"), "enhance", "--input", str(source), "--output", str(output), *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def count(self, file, stream="v"):
        """How many packets a file's first stream of a kind holds."""
        done = subprocess.run(
            ["ffprobe", "-v", "error", "-count_packets", "-select_streams", f"{stream}:0", "-show_entries",
             "stream=nb_read_packets", "-of", "csv=p=0", str(file)], capture_output=True, text=True)
        found = done.stdout.split()
        return int(found[0]) if found and found[0].isdigit() else 0

    def close(self):
        for running in self.running:
            running.stop(5)
