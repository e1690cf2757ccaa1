"""What the tools that run programs against each other have in common."""
import os
import pathlib
import socket

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
