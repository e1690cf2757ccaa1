"""What the host takes from this machine, where it is a virtual one."""
import os


def stolen(cpu=""):
    """The seconds that the host has taken so far from a processor, or from all together; steps of 10 ms."""
    with open("/proc/stat") as lines:
        for line in lines:
            if line.startswith(f"cpu{cpu} "):
                return int(line.split()[8]) / os.sysconf("SC_CLK_TCK")
    return 0
