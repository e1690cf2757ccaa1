"""A burnishd of its own with a room, for checks."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import urllib.request

from ports import free_port
from waiting import wait

KEY = "0123456789abcdef" * 3


class RoomService:
    """`settings` are the room's keys beside its key."""

    def __init__(self, burnishd, settings):
        self.folder = tempfile.TemporaryDirectory(prefix="burnish-room-")
        folder = pathlib.Path(self.folder.name)
        self.site = f"http://127.0.0.1:{free_port(socket.SOCK_STREAM)}"
        (folder / "key").write_text(KEY + "\n")
        (folder / "burnish.yaml").write_text(
            f"http: {{port: {self.site.rsplit(':', 1)[1]}}}\nstreams: {{}}\nrooms:\n  team:\n    key-file: key\n"
            + "".join(f"    {key}: {value}\n" for key, value in settings.items()))
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(
            [burnishd, "--config", folder / "burnish.yaml", "--runtime-directory", folder], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self.log)
        wait("burnishd answers", lambda: self.rooms() is not None, 20, ignoring=[OSError], process=self.process)

    def ask(self, method, path, body=None, token=None):
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.site + path, data, headers, method=method), timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def rooms(self):
        return self.ask("GET", "/api/v1/rooms")["rooms"]

    def token(self, **claims):
        return self.ask("POST", "/api/v1/rooms/team/links", claims)["token"]

    def link(self, **claims):
        return self.site + self.ask("POST", "/api/v1/rooms/team/links", claims)["path"]

    def streams(self):
        return sorted(each["name"] for each in self.ask("GET", "/api/v1/streams")["streams"])

    def workers(self):
        """The process ids of burnishd's children, whichever of its threads has started them."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]

    def seconds(self):
        """Processor time of burnishd and the workers that it has now."""
        ticks = 0
        for process in [self.process.pid, *self.workers()]:
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        self.folder.cleanup()
