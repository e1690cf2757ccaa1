"""What the tools that run programs against each other have in common."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

# Why frames are dropped at the end of a run, when their receiver has gone and the relay is told to stop: no fault.
ENDINGS = ("output_down", "shutdown")


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def missed(dropped):
    """Of the frames dropped, by reason, those that should have come out."""
    return {reason: count for reason, count in dropped.items() if count and reason not in ENDINGS}


def steal(cpu):
    """What the host has taken from a processor so far, in ms; steps of 10."""
    with open("/proc/stat") as lines:
        for line in lines:
            if line.startswith(f"cpu{cpu} "):
                return int(line.split()[8]) * 1000 // os.sysconf("SC_CLK_TCK")
    return 0


class Standstills:
    """Finds the moments in which a processor of this machine did not wake a program that had slept.

    A virtual machine stands still when its host has other things to do: nothing that runs in it can be in time then. A
    process for each processor sleeps for 5 ms again and again, and records when it comes back `least` seconds late or more.
    """

    def __init__(self, least=0.02):
        self.files = [tempfile.TemporaryFile("w+") for _ in os.sched_getaffinity(0)]
        self.watchers = [subprocess.Popen([sys.executable, __file__, str(cpu), str(least)], stdout=file)
                         for cpu, file in zip(sorted(os.sched_getaffinity(0)), self.files)]

    def stop(self):
        """Each standstill: (begin, end, taken), seconds of CLOCK_MONOTONIC and what of it went to the host, in order."""
        found = []
        for watcher, file in zip(self.watchers, self.files):
            watcher.terminate()
            watcher.wait()
            file.seek(0)
            found += [tuple(float(field) for field in line.split()) for line in file]
        return sorted(found)


def watch(cpu, least):
    os.sched_setaffinity(0, {cpu})
    pause, taken, samples = 0.005, steal(cpu), 0
    while True:
        begin = time.monotonic()
        time.sleep(pause)
        end = time.monotonic()
        samples += 1
        if end - begin - pause >= least:
            now = steal(cpu)
            print(f"{begin + pause:.4f} {end:.4f} {min((now - taken) / 1000, end - begin):.3f}", flush=True)
            taken = now
        elif samples % 20 == 0:
            taken = steal(cpu)


if __name__ == "__main__":
    watch(int(sys.argv[1]), float(sys.argv[2]))
