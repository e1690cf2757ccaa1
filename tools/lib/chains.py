"""The chains that a picture of a call can take, each behind one function: an offer in, the answer out."""
import csv
import io
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from ports import free_port
from waiting import wait

HERE = pathlib.Path(__file__).resolve().parent


class Chain:
    """What the driver asks of every chain. `kind` tells the page how to call. `poor` is the link of a second viewer, where there is one:
    bits a second, the share of datagrams that it loses, and milliseconds each way."""

    poor = None

    def settle(self):
        """Called when the page sees pictures, before the time that is not measured. May wait."""

    def hang_up(self):
        """Called after each run."""

    def figures(self, begin, end):
        """What the chain says itself of a run, after it; seconds of CLOCK_REALTIME."""
        return {}

    def close(self):
        pass


class Peers(Chain):
    """Two peer connections in one page. They exchange their descriptions through the driver, which may put proxies before them."""

    kind = "peers"

    def __init__(self, name):
        self.name = name

    def answer(self, leg, sdp):
        return sdp


class WebRTCHTTP(Chain):
    """A server's WHIP and WHEP endpoints (RFC 9725, draft-ietf-wish-whep). Without `whip` the page only watches."""

    def __init__(self, name, whip, whep, token=None):
        self.name, self.urls, self.token = name, {"publish": whip, "watch": whep}, token
        self.kind = "whip" if whip else "watch"
        self.resources = []

    def headers(self):
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def answer(self, leg, sdp):
        url = self.urls[leg]
        request = urllib.request.Request(url, sdp.encode(), {"Content-Type": "application/sdp", **self.headers()}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                body = response.read().decode()
                if response.status != 201 or not response.headers["Location"]:
                    raise RuntimeError(f"{url}: {response.status} instead of 201 with a Location")
                self.resources.append(urllib.parse.urljoin(url, response.headers["Location"]))
                return body
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{url}: {error.code} {error.read().decode(errors='replace')[:300]}") from None

    def hang_up(self):
        for url in self.resources:
            try:
                urllib.request.urlopen(urllib.request.Request(url, headers=self.headers(), method="DELETE"), timeout=10).close()
            except OSError:
                pass  # The session may have ended with its connection.
        self.resources = []


class Burnish(WebRTCHTTP):
    """A burnishd of its own with one stream, from WHIP to WHEP. `settings` are those of the stream; `viewers=N` is not one, but
    lets so many more watch, who join when the page sees pictures. Nor is `poor=300k/2%/80`: a second viewer; nor
    `small=320x180@200k`: the smaller encode of the output. `input` is the stream's; `http` has keys of `http:` beside the port."""

    def __init__(self, name, burnishd, settings, input="whip:call", http={}):
        self.viewer_count, self.viewers, self.watched = int(settings.pop("viewers", 0)), None, None
        if "poor" in settings:
            rate, loss, delay = settings.pop("poor").split("/")
            self.poor = (float(rate.rstrip("kM")) * {"k": 1e3, "M": 1e6}[rate[-1]], float(loss.rstrip("%")) / 100, float(delay))
        small = f"&small={settings.pop('small')}" if "small" in settings else ""
        port = free_port(socket.SOCK_STREAM)
        super().__init__(name, f"http://127.0.0.1:{port}/whip/call", f"http://127.0.0.1:{port}/whep/call")
        self.stream = f"http://127.0.0.1:{port}/api/v1/streams/call"
        self.folder = tempfile.TemporaryDirectory(prefix="burnish-calls-")
        folder = pathlib.Path(self.folder.name)
        lines = "".join(f"    {key}: {value}\n" for key, value in settings.items())
        keys = "".join(f"  {key}: {value}\n" for key, value in http.items())
        (folder / "burnish.yaml").write_text(
            f"http:\n  port: {port}\n{keys}streams:\n  call:\n    input: {input}\n"
            f"    output: whep:call?viewers={max(16, 1 + self.viewer_count)}{small}\n{lines}")
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(
            [burnishd, "--config", folder / "burnish.yaml", "--runtime-directory", folder], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self.log)
        try:
            wait("burnishd waits for calls", lambda: self.state() in ("waiting", "flowing"), 20, ignoring=[OSError],
                 process=self.process)
        except TimeoutError as error:
            self.log.seek(0)
            text = self.log.read()[-800:]
            self.close()
            raise RuntimeError(f"{name}: {error}: {text}") from None

    def state(self):
        """`waiting` for pictures, `flowing`, or another of the stream's states."""
        with urllib.request.urlopen(self.stream, timeout=5) as answer:
            return json.load(answer)["state"]

    def settle(self):
        if not self.viewer_count:
            return
        self.viewers = subprocess.Popen(
            [sys.executable, HERE / "viewers.py", self.urls["watch"], "--count", str(self.viewer_count)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        line = json.loads(self.viewers.stdout.readline() or '{"fault": "the viewers ended"}')
        if "fault" in line:
            self.viewers.communicate()
            self.viewers = None
            raise RuntimeError(line["fault"])

    def hang_up(self):
        # The viewers leave first: what they say is about a stream that still has its publisher.
        if self.viewers:
            self.viewers.terminate()
            lines = self.viewers.communicate(timeout=20)[0].splitlines()
            self.watched, failed, self.viewers = lines and json.loads(lines[-1]), self.viewers.returncode, None
            super().hang_up()
            if failed:
                raise RuntimeError(f"{self.name}: not all viewers got packets until the end: {self.watched}")
        super().hang_up()

    def figures(self, begin, end):
        """`changed_tiles` is the share that networks computed of the tiles that had changed, in originals that were sent. A tile that
        two networks computed counts once for each, so a mean over 1 is possible. `sent` and `seen` of a further viewer: how many frames left
        the relay while they watched, and how many came to them, as far back as there are records."""
        with urllib.request.urlopen(self.stream + "/records", timeout=10) as answer:
            records = list(csv.DictReader(io.TextIOWrapper(answer)))
        # Records have times of the monotonic clock.
        ahead = time.time() - time.monotonic()
        wanted = computed = frames = synthesised = 0
        sent = [int(record["sent_ns"]) / 1e9 for record in records if record["fate"] == "emitted" and record["sent_ns"]]
        for each in (self.watched or {}).get("video", []):
            came = each.pop("came")
            if came and sent:
                # A frame's packets may come a little before its record says that it was sent.
                first, last = max(came[0], min(sent)) - 0.01, min(came[-1], max(sent)) + 0.01
                each["sent"], each["seen"] = (sum(first <= at <= last for at in times) for times in (sent, came))
        for record in records:
            if record["fate"] != "emitted" or not begin <= int(record["sent_ns"] or 0) / 1e9 + ahead < end:
                continue
            synthesised += record["kind"] == "synthesised"
            if record["kind"] == "original":
                frames += 1
                wanted += int(record["tiles_wanted"])
                computed += int(record["tiles_computed"])
        found = {"originals_sent": frames, "synthesised_sent": synthesised, "changed_tiles": wanted, "tiles_by_networks": computed,
                 "share_by_networks": round(computed / wanted, 4) if wanted else None}
        return {"burnish": found, **({"viewers": self.watched} if self.watched else {})}

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        self.folder.cleanup()


class BurnishFromSRT(Burnish):
    """The same with `burnish testsrc` as source, over SRT: the page only watches."""

    def __init__(self, name, burnishd, settings, options=()):
        place = f"srt://127.0.0.1:{free_port()}"
        self.source = None
        super().__init__(name, burnishd, settings, f"{place}?mode=listener&latency=20")
        self.kind = "watch"
        self.source = subprocess.Popen(
            [burnishd.with_name("burnish"), "testsrc", "--output", f"{place}?latency=20", "--duration", "86400s", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait("the test stream arrives", lambda: self.state() == "flowing", 15, process=self.source)
        except TimeoutError as error:
            self.close()
            raise RuntimeError(f"{name}: {error}") from None

    def close(self):
        if self.source:
            self.source.terminate()
            self.source.wait(10)
        super().close()


class Janus(Chain):
    """Debian's Janus with its echo test, which sends a picture back as it came. All of its configuration is temporary."""

    kind = "echo"

    def __init__(self, name="janus", program="janus", plugins=("echotest",)):
        self.name, self.port = name, free_port(socket.SOCK_STREAM)
        self.folder = tempfile.TemporaryDirectory(prefix="janus-")
        self.write_configuration(pathlib.Path(self.folder.name), self.port, plugins)
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+")
        try:
            self.process = subprocess.Popen([program, "-F", self.folder.name], stdin=subprocess.DEVNULL, stdout=self.log,
                                            stderr=subprocess.STDOUT)
        except FileNotFoundError:
            raise RuntimeError("there is no Janus here: run tools/install-needs calls") from None
        self.url = f"http://127.0.0.1:{self.port}/janus"
        self.session = None
        try:
            wait("Janus answers", lambda: self.ask("/info"), 10, ignoring=[OSError], process=self.process)
        except TimeoutError as error:
            self.log.seek(0)
            raise RuntimeError(f"{error}: {self.log.read()[-500:]}") from None

    @staticmethod
    def write_configuration(folder, port, plugins):
        library = next(pathlib.Path("/usr/lib").glob("*/janus"), pathlib.Path("/usr/lib/janus"))

        def others(kind, *wanted):
            return ",".join(sorted({p.name for p in (library / kind).glob("*.so")} - {f"libjanus_{name}.so" for name in wanted}))

        (folder / "janus.jcfg").write_text(f"""
general: {{ configs_folder = "{folder}", plugins_folder = "{library}/plugins", transports_folder = "{library}/transports",
    events_folder = "{library}/events", loggers_folder = "{library}/loggers", debug_level = 3, session_timeout = 0 }}
media: {{ ipv6 = false }}
plugins: {{ disable = "{others('plugins', *plugins)}" }}
transports: {{ disable = "{others('transports', 'http')}" }}
loggers: {{ disable = "{others('loggers')}" }}
events: {{ broadcast = false }}
""")
        (folder / "janus.transport.http.jcfg").write_text(
            f'general: {{ http = true, port = {port}, ip = "127.0.0.1", https = false, base_path = "/janus" }}\n'
            "admin: { admin_http = false, admin_https = false }\n")

    def ask(self, path, body=None):
        data = json.dumps(dict(body, transaction="probe")).encode() if body else None
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data), timeout=15) as response:
            answer = json.load(response)
        if answer.get("janus") == "error":
            raise RuntimeError(f"Janus: {answer['error']['reason']}")
        return answer

    def answer(self, leg, sdp):
        self.session = f"/{self.ask('', {'janus': 'create'})['data']['id']}"
        handle = self.ask(self.session, {"janus": "attach", "plugin": "janus.plugin.echotest"})["data"]["id"]
        self.ask(f"{self.session}/{handle}", {
            "janus": "message", "body": {"audio": True, "video": True}, "jsep": {"type": "offer", "sdp": sdp, "trickle": False}})
        for _ in range(5):
            event = self.ask(f"{self.session}?maxev=1")
            if "jsep" in event:
                return event["jsep"]["sdp"]
        raise RuntimeError("Janus gave no answer to the offer")

    def hang_up(self):
        if self.session:
            self.ask(self.session, {"janus": "destroy"})
        self.session = None

    def close(self):
        self.process.terminate()
        self.process.wait(10)
        self.log.close()
        self.folder.cleanup()


class JanusHandle:
    """A handle of a plugin of Janus, in a session of its own."""

    def __init__(self, janus, plugin):
        self.janus = janus
        self.session = f"/{janus.ask('', {'janus': 'create'})['data']['id']}"
        self.path = f"{self.session}/{janus.ask(self.session, {'janus': 'attach', 'plugin': f'janus.plugin.{plugin}'})['data']['id']}"

    def ask(self, body, jsep=None):
        """(plugin's data, jsep) of the answer, which comes at once or as an event."""
        message = {"janus": "message", "body": body, **({"jsep": jsep} if jsep else {})}
        answer = self.janus.ask(self.path, message)
        for _ in range(10):
            if answer["janus"] in ("success", "event"):
                data = answer["plugindata"]["data"]
                if "error" in data:
                    raise RuntimeError(f"Janus: {body['request']}: {data['error']}")
                return data, answer.get("jsep")
            answer = self.janus.ask(f"{self.session}?maxev=1")
        raise RuntimeError(f"Janus does not answer to {body['request']}")


class JanusRoom(Janus):
    """Its VideoRoom, as a server of conferences: the page publishes, and watches what the room sends it. There Janus makes the offer."""

    kind = "room"

    def __init__(self, name="janus-room"):
        super().__init__(name, plugins=("videoroom",))
        self.handles, self.number = [], 0

    def answer(self, leg, sdp):
        if leg == "accept":
            self.handles[-1].ask({"request": "start"}, {"type": "answer", "sdp": sdp, "trickle": False})
            return ""
        self.handles.append(JanusHandle(self, "videoroom"))
        if leg == "publish":
            self.number += 1
            self.handles[-1].ask({"request": "create", "room": self.number, "videocodec": "h264,vp8,vp9,av1", "audiocodec": "opus",
                                  "publishers": 1, "bitrate": 0})
            joined, _ = self.handles[-1].ask({"request": "join", "ptype": "publisher", "room": self.number})
            self.feed = joined["id"]
            _, jsep = self.handles[-1].ask({"request": "publish"}, {"type": "offer", "sdp": sdp, "trickle": False})
        else:
            _, jsep = self.handles[-1].ask({"request": "join", "ptype": "subscriber", "room": self.number, "streams": [{"feed": self.feed}]})
        return jsep["sdp"]

    def hang_up(self):
        for handle in self.handles:
            self.ask(handle.session, {"janus": "destroy"})
        self.handles = []


def chain(text, token, burnishd, source=()):
    """The chain that an argument names; see tools/bench/compare-calls. `source` are options for `burnish testsrc` where that is used."""
    if text == "peers":
        return Peers(text)
    if text == "janus":
        return Janus()
    if text == "janus-room":
        return JanusRoom()
    kind, _, settings = text.partition(":")
    if kind in ("burnish", "srt"):
        pairs = [pair.partition("=") for pair in settings.split(",") if pair]
        settings = {key: value for key, _, value in pairs}
        return Burnish(text, burnishd, settings) if kind == "burnish" else BurnishFromSRT(text, burnishd, settings, source)
    name, separator, urls = text.partition("=")
    urls = urls.split(",") if separator else []
    if not name or len(urls) not in (1, 2) or not all(u.startswith(("http://", "https://")) for u in urls):
        raise ValueError(f"{text} is no chain: use peers, janus, janus-room, burnish, srt, either with :KEY=VALUE,…, NAME=WHIP-URL,WHEP-URL or "
                         "NAME=WHEP-URL")
    return WebRTCHTTP(name, urls[0] if len(urls) == 2 else None, urls[-1], token)
