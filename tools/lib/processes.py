"""What Linux says of a running process."""
import os
import pathlib


def cpu_seconds(pid):
    """The processor time that it has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kib(pid):
    """The memory that it has in use."""
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def descriptors(pid):
    """How many files and sockets it has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))
