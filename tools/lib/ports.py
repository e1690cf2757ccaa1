"""Ports of this machine's loopback that nobody has, and those that somebody has."""
import pathlib
import socket


def free_port(kind=socket.SOCK_DGRAM):
    """A port that is free now: of UDP, which SRT uses too, or of TCP with SOCK_STREAM."""
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def free_ports(count):
    """The first of so many free UDP ports in a row, an even one."""
    while True:
        port = free_port()
        if port % 2 or port + count > 65535:
            continue
        try:
            for offset in range(count):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as each:
                    each.bind(("127.0.0.1", port + offset))
            return port
        except OSError:
            pass


def is_bound(port):
    """Whether somebody has a UDP port."""
    tables = [pathlib.Path("/proc/net") / name for name in ("udp", "udp6")]
    return any(f":{port:04X} " in line.split(maxsplit=2)[1] + " "
               for table in tables if table.exists() for line in table.read_text().splitlines()[1:])
