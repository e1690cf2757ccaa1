"""Starts the HTTP interface over a service that is made up, for the checks beside this file.

The interface is served by a test of Tests/WebTests (ServeForTools), so no worker runs and no stream is needed.
"""
import contextlib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def build():
    """Builds the tests, unless BURNISH_SKIP_BUILD says that they are."""
    if os.environ.get("BURNISH_SKIP_BUILD"):
        return
    subprocess.run(["swift", "build", "-Xcc", "-O2", "--build-tests"], cwd=ROOT, check=True, stdout=sys.stderr)


@contextlib.contextmanager
def served(is_open=False):
    """Gives (process, port, token). With `is_open` changes need no token."""
    build()
    environment = dict(os.environ, BURNISH_WEB_PORT="0", **({"BURNISH_WEB_OPEN": "1"} if is_open else {}))
    binary = subprocess.run(["swift", "build", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    program = pathlib.Path(binary.stdout.strip()) / "burnishPackageTests.xctest"
    process = subprocess.Popen(
        [program, "--testing-library", "swift-testing", "--filter", "ServeForTools"], cwd=ROOT, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if found := re.search(r"serving on 127\.0\.0\.1:(\d+), token (\w+)", line):
                yield process, int(found[1]), found[2]
                break
        else:
            sys.exit("the test program did not serve: run tools/test --filter WebTests first")
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            sys.exit("the server did not end within 20 s")


def resident_kib(process):
    return int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))
