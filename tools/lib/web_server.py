"""Starts the HTTP interface for checks: over a service that is made up, or that of a real burnishd.

What is made up is served by a test of Tests/WebTests (ServeForTools), so no worker runs and no stream is needed.
"""
import contextlib
import os
import pathlib
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import urllib.request

from ports import free_port
from waiting import wait

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def build():
    """Builds the tests, unless BURNISH_SKIP_BUILD says that they are."""
    if os.environ.get("BURNISH_SKIP_BUILD"):
        return
    subprocess.run(["swift", "build", "-Xcc", "-O2", "--build-tests"], cwd=ROOT, check=True, stdout=sys.stderr)


def served_by(burnishd):
    """`running` where a burnishd is given, else `served`."""
    return running(burnishd) if burnishd else served()


@contextlib.contextmanager
def running(burnishd):
    """Gives (process, port, token) of a real burnishd, with the program burnish beside it. The stream `cam1` flows, and `cam2`
    waits for its source. Changes need the token."""
    burnishd = pathlib.Path(burnishd).resolve()
    token, port = secrets.token_hex(16), free_port(socket.SOCK_STREAM)
    ports = [free_port() for _ in range(4)]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "burnish.yaml").write_text(f"""
http: {{port: {port}, token: {token}}}
stills: {{when-busy: lower}}
streams:
  cam1: {{input: 'udp://127.0.0.1:{ports[0]}', output: 'udp://127.0.0.1:{ports[1]}', interpolate: 2, past: 20s}}
  cam2: {{input: 'srt://127.0.0.1:{ports[2]}?mode=listener', output: 'srt://127.0.0.1:{ports[3]}?mode=listener'}}
""")
        with open(work / "log", "wb") as log:
            process = subprocess.Popen([burnishd, "--config", work / "burnish.yaml"], stdin=subprocess.DEVNULL, stderr=log,
                                       env=dict(os.environ, RUNTIME_DIRECTORY=name, STATE_DIRECTORY=name))
        sender = subprocess.Popen(
            [burnishd.parent / "burnish", "testsrc", "--output", f"udp://127.0.0.1:{ports[0]}", "--size", "640x360",
             "--duration", "3600s"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait("the stream flows", lambda: flows(port), step=0.2, ignoring=[OSError], process=process)
            yield process, port, token
        except BaseException:
            print((work / "log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            sender.terminate()
            process.terminate()
            sender.wait(20)
            process.wait(20)


def flows(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return b'burnish_stream_state{stream="cam1",state="flowing"} 1' in answer.read()


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
