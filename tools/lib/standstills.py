"""Moments in which this machine stood still."""
import os
import subprocess
import sys
import tempfile
import time

from host_time import stolen


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
    pause, taken, samples = 0.005, stolen(cpu), 0
    while True:
        begin = time.monotonic()
        time.sleep(pause)
        end = time.monotonic()
        samples += 1
        if end - begin - pause >= least:
            now = stolen(cpu)
            print(f"{begin + pause:.4f} {end:.4f} {min(now - taken, end - begin):.3f}", flush=True)
            taken = now
        elif samples % 20 == 0:
            taken = stolen(cpu)


if __name__ == "__main__":
    watch(int(sys.argv[1]), float(sys.argv[2]))
