"""WHIP and WHEP: offers as other clients write them, publishers that crash and return, and what browsers send."""
import contextlib, http.client, json, random, secrets, shutil, socket, string, time, urllib.request

from ports import free_port
from waiting import wait

from . import Row

SDP = {"Content-Type": "application/sdp"}


class Service:
    """A burnishd of its own with a stream `call` from WHIP to WHEP."""

    def __init__(self, lab, query="", **settings):
        """`query` stands behind the stream's URLs."""
        self.port = free_port(socket.SOCK_STREAM)
        lines = "".join(f"    {key.replace('_', '-')}: {value}\n" for key, value in {"tier": "base", **settings}.items())
        lab.path("burnish.yaml").write_text(
            f"http: {{port: {self.port}}}\nstreams:\n  call:\n    input: 'whip:call{query}'\n    output: 'whep:call{query}'\n{lines}")
        self.running = lab.start(
            [lab.programs / "burnishd", "--config", lab.path("burnish.yaml"), "--runtime-directory", lab.folder])
        self.url = f"http://127.0.0.1:{self.port}"
        self.seconds_until("the service starts", lambda: self.get("/api/v1/streams/call")["state"] in ("waiting", "flowing"))

    def seconds_until(self, what, condition):
        """How long it took until the condition held."""
        begin = time.monotonic()
        try:
            wait(what, condition, ignoring=[OSError, KeyError, TypeError])
        except TimeoutError as error:
            raise RuntimeError(f"{error}:\n{self.running.text()[-2000:]}") from None
        return time.monotonic() - begin

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode(errors="replace")

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:
            return json.load(answer)

    def figures(self):
        return self.get("/api/v1/streams/call/statistics")

    def change(self, **settings):
        status, _, text = self.request("PATCH", "/api/v1/streams/call", json.dumps({"settings": settings}),
                                       {"Content-Type": "application/json", "Origin": self.url})
        if status >= 300:
            raise RuntimeError(f"{settings}: {text}")

    def lines(self, text):
        return sum(text in line for line in self.running.text().splitlines())


class Offer:
    """A session description with one transport, as a client of a certain kind writes it."""

    H264 = ("H264/90000", "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f")

    def __init__(self, way="sendonly", setup="actpass", bundle=True, mux=True, names=True):
        self.way, self.setup, self.bundle, self.mux, self.names = way, setup, bundle, mux, names
        letters = string.ascii_letters + string.digits
        self.user, self.password = (secrets.token_hex(4), "".join(random.choices(letters, k=24)))
        self.finger = ":".join(f"{byte:02X}" for byte in secrets.token_bytes(32))
        self.sections = []

    def section(self, kind, formats, *lines, port=9, way=None):
        """`formats` are pairs of a format and its parameters, or formats alone."""
        types = {96 + place: (f, None) if isinstance(f, str) else f for place, f in enumerate(formats)}
        mid = [f"a=mid:{len(self.sections)}"] if self.names else []
        body = [f"m={kind} {port} UDP/TLS/RTP/SAVPF {' '.join(map(str, types)) or '0'}", "c=IN IP4 0.0.0.0", *mid,
                f"a={way or self.way}", f"a=ice-ufrag:{self.user}", f"a=ice-pwd:{self.password}",
                f"a=fingerprint:sha-256 {self.finger}", f"a=setup:{self.setup}", *(["a=rtcp-mux"] if self.mux else [])]
        for number, (name, parameters) in types.items():
            body.append(f"a=rtpmap:{number} {name}")
            if parameters:
                body.append(f"a=fmtp:{number} {parameters}")
        self.sections.append(body + list(lines))
        return self

    def picture(self, *formats, lines=(), **options):
        return self.section("video", formats or [self.H264], *lines, **options)

    OPUS = ("opus/48000/2", "minptime=10;useinbandfec=1")

    def sound(self, *formats, **options):
        return self.section("audio", formats or [self.OPUS], **options)

    def text(self):
        names = " ".join(str(place) for place, each in enumerate(self.sections) if " 0 UDP" not in each[0] or "a=bundle-only" in each)
        head = ["v=0", f"o=- {random.getrandbits(60)} 2 IN IP4 127.0.0.1", "s=-", "t=0 0"]
        head += [f"a=group:BUNDLE {names}"] if self.bundle else []
        return "\r\n".join([*head, *(line for each in self.sections for line in each)]) + "\r\n"


def simulcast(*names):
    return [*(f"a=rid:{name} send" for name in names), f"a=simulcast:send {';'.join(names)}",
            "a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid", "a=extmap:2 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
            "a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"]


MODES = [  # what is offered, the side, the status, what the answer or the reason must have
    ("H.264 that says nothing", "whip", 201, lambda: Offer().picture("H264/90000"), ["m=video", " 96"]),
    ("packetization-mode=0", "whip", 201, lambda: Offer().sound().picture(("H264/90000", "packetization-mode=0;profile-level-id=42e01f")),
     ["packetization-mode=0"]),
    ("mode 0 before mode 1, a viewer", "whep", 201,
     lambda: Offer("recvonly").picture(("H264/90000", "packetization-mode=0;profile-level-id=42e01f"), Offer.H264), ["packetization-mode=1"]),
    ("five formats without parameters, a viewer", "whep", 201,
     lambda: Offer("recvonly").picture("VP8/90000", "H264/90000", "VP9/90000", "H265/90000", "AV1/90000"), ["H264/90000"]),
    ("names in lower case, spaces in the parameters", "whip", 201, lambda: Offer().picture(
        ("h264/90000", "packetization-mode=1; profile-level-id=42E01F"), lines=["a=rtcp-fb:* nack pli"]), ["nack pli"]),
    ("red and ulpfec before H.264", "whip", 201, lambda: Offer().picture("red/90000", "ulpfec/90000", Offer.H264, ("rtx/90000", "apt=98")),
     ["m=video", " 98 99"]),
    ("RED before Opus", "whip", 201, lambda: Offer().sound(("red/48000/2", "97/97"), Offer.OPUS).picture(),
     ["SAVPF 96 97", "a=fmtp:96 97/97"]),
    ("Opus before RED", "whip", 201, lambda: Offer().sound(Offer.OPUS, ("red/48000/2", "96/96")), ["SAVPF 96\r\n"]),
]
FORMATS = [
    ("AV1 alone", "whip", 406, lambda: Offer().picture("AV1/90000"), ["AV1", "H264 (packetization-mode 0 or 1", "VP8"]),
    ("HEVC alone", "whip", 406, lambda: Offer().picture(("H265/90000", "level-id=120")), ["H265", "H264"]),
    ("High 4:2:2", "whip", 406, lambda: Offer().picture(("H264/90000", "packetization-mode=1;profile-level-id=7a001f")), ["7a001f", "4:2:0"]),
    ("mode 0 alone, a viewer", "whep", 406, lambda: Offer("recvonly").picture(
        ("H264/90000", "packetization-mode=0;profile-level-id=42e01f")), ["packetization-mode 0", "offer H264 with packetization-mode=1"]),
    ("data alone", "whip", 406, lambda: Offer().section("application", [], way="sendrecv"), ["data channels"]),
    ("no bundle", "whip", 406, lambda: Offer(bundle=False).sound().picture(), ["BUNDLE"]),
    ("no rtcp-mux", "whip", 406, lambda: Offer(mux=False).picture(), ["rtcp-mux"]),
]
SHAPES = [
    ("two pictures", "whip", 201, lambda: Offer().picture().picture(), ["m=video 0 "]),
    ("a second section that is bundle-only", "whip", 201, lambda: Offer().sound().picture(port=0, lines=["a=bundle-only"]), ["m=video"]),
    ("sound that its sender refuses", "whip", 201, lambda: Offer().section("audio", [], port=0, way="inactive").picture(), ["m=audio 0 "]),
    ("data beside a picture", "whip", 201, lambda: Offer().picture().section("application", [], way="sendrecv"), ["m=application 0 "]),
    ("setup:passive (FFmpeg)", "whip", 201, lambda: Offer(setup="passive").picture(), ["setup:active"]),
    ("setup:active", "whip", 201, lambda: Offer(setup="active").picture(), ["setup:passive"]),
    ("three sizes by rid (OBS)", "whip", 201, lambda: Offer().sound().picture(lines=simulcast("0", "1", "2")),
     ["a=rid:0 recv", "a=rid:2 recv", "a=simulcast:recv 0;1;2", "repaired-rtp-stream-id"]),
    ("three sizes by rid, smallest first (browsers)", "whip", 201, lambda: Offer().picture(lines=simulcast("q", "h", "f")),
     ["a=simulcast:recv q;h;f"]),
]


def offers(cases):
    """A row's run: posts each offer, and ends the call at once."""
    def run(lab):
        service = Service(lab)
        for name, side, wanted, build, needed in cases:
            status, headers, text = service.request("POST", f"/{side}/call", build().text(), SDP)
            lab.want(status == wanted, f"{name}: {status} instead of {wanted}: {text[:200]}")
            missing = [each for each in needed if each not in text]
            lab.want(not missing, f"{name}: its answer lacks {missing}")
            if status == 201:
                service.request("DELETE", headers["location"])
        return f"{len(cases)} offers"
    return run


def sound_alone(lab):
    service = Service(lab)
    counts = lambda: (service.figures()["input"]["picturesRefused"], service.figures()["outputs"][0]["link"]["picturesRefused"])
    for side, offer in [("whip", Offer().sound().picture("AV1/90000")), ("whep", Offer("recvonly").sound().picture("VP8/90000", "AV1/90000"))]:
        status, headers, text = service.request("POST", f"/{side}/call", offer.text(), SDP)
        lab.want(status == 201 and "m=video 0 " in text, f"{side}: {status}: {text[:200]}")
        service.request("DELETE", headers["location"])
    service.seconds_until("refused pictures are counted", lambda: counts() == (1, 1))
    lines = service.lines("sound alone: offered are")
    lab.want(lines == 2, f"{lines} lines say why")
    return f"{lines} lines, counted {counts()}"


def crash(lab):
    """Nothing comes of a publisher who was answered: as one that has crashed."""
    service = Service(lab)
    post = lambda query="": service.request("POST", "/whip/call" + query, Offer().picture().text(), SDP)
    lab.want(post()[0] == 201, "the first publisher is refused")
    begin = time.monotonic()
    status, headers, text = post()
    lab.want(status == 409 and headers.get("retry-after") == "1" and "takeover" in text, f"{status} {headers.get('retry-after')} {text}")
    while (status := post()[0]) == 409 and time.monotonic() < begin + 10:
        time.sleep(0.05)
    room = time.monotonic() - begin
    lab.want(status == 201 and room < 2, f"{status} after {room:.1f} s")
    lab.want(post("?takeover=true")[0] == 201, "the place is not taken over on request")
    return f"room after {room:.1f} s"


# MARK: A browser


PAGE = """
window.kit = {
  async call(path, add) {
    const peer = new RTCPeerConnection()
    add(peer)
    await peer.setLocalDescription(await peer.createOffer())
    const end = performance.now() + 1000
    while (peer.iceGatheringState !== "complete" && performance.now() < end) await new Promise((done) => setTimeout(done, 20))
    const answer = await fetch(path, {method: "POST", headers: {"Content-Type": "application/sdp"}, body: peer.localDescription.sdp})
    const text = await answer.text()
    if (!answer.ok) throw new Error(text)
    await peer.setRemoteDescription({type: "answer", sdp: kit.reachable?.(text) ?? text})
    peer.resource = answer.headers.get("Location")
    return peer
  },
  // Pictures whose colours move: `rate` a second, or one for each call of `kit.draw` where it is 0.
  pictures(rate, width = 640, height = 360) {
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d")
    ;[canvas.width, canvas.height] = [width, height]
    let count = 0
    const paint = () => {
      for (let x = 0; x < 16; x++) for (let y = 0; y < 9; y++) {
        context.fillStyle = `hsl(${(x * 23 + y * 41 + count * 7) % 360}, 80%, ${30 + (x + count) % 40}%)`
        context.fillRect(x * width / 16, y * height / 9, width / 16, height / 9)
      }
      count++
    }
    paint()
    const stream = canvas.captureStream(rate)
    if (rate) setInterval(paint, 1000 / rate)
    kit.draw = () => { paint(); stream.getVideoTracks()[0].requestFrame() }
    return stream.getVideoTracks()[0]
  },
  sound() {
    const context = new AudioContext(), tone = context.createOscillator(), out = context.createMediaStreamDestination()
    tone.connect(out); tone.start()
    return out.stream.getAudioTracks()[0]
  },
  only(sender, name) {
    const all = RTCRtpSender.getCapabilities("video").codecs
    sender.setCodecPreferences(all.filter((each) => each.mimeType === "video/" + name || each.mimeType === "video/rtx"))
  },
  publish: (path, track, encodings) => kit.call(path, (peer) => {
    const sender = peer.addTransceiver(track, {direction: "sendonly", sendEncodings: encodings ?? [{}]})
    kit.only(sender, kit.codec ?? "H264")
    if (kit.tone) peer.addTransceiver(kit.tone, {direction: "sendonly"})
  }).then(async (peer) => {
    window.publisher = peer
    // A browser that has little time makes its pictures smaller otherwise.
    const [sender] = peer.getSenders(), parameters = sender.getParameters()
    parameters.degradationPreference = "maintain-resolution"
    await sender.setParameters(parameters).catch(() => {})
  }),
  watch: (path) => kit.call(path, (peer) => {
    peer.addTransceiver("video", {direction: "recvonly"})
    peer.addTransceiver("audio", {direction: "recvonly"})
  }).then((peer) => { window.viewer = peer }),
  async figures(peer, type) {
    const found = {}
    ;(await peer.getStats()).forEach((each) => { if (each.type === type && each.kind === "video") Object.assign(found, each) })
    return found
  },
}
"""


class Browser:
    """Chromium, driven by chromedriver over its HTTP interface (W3C WebDriver)."""

    FLAGS = ["--headless=new", "--no-sandbox", "--autoplay-policy=no-user-gesture-required",
             "--disable-features=WebRtcHideLocalIpsWithMdns", "--allow-loopback-in-peer-connection",
             "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows"]

    def __init__(self, lab, url):
        if not shutil.which("chromedriver"):
            raise RuntimeError("there is no chromedriver: tools/install-needs calls installs it")
        self.port = free_port(socket.SOCK_STREAM)
        self.driver = lab.start(["chromedriver", f"--port={self.port}"])
        wait("chromedriver is ready", lambda: self.ask("GET", "/status")["ready"], ignoring=[OSError])
        options = {"binary": shutil.which("chromium"), "args": self.FLAGS}
        self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})["sessionId"]
        self.command("/timeouts", {"script": 30000})
        self.command("/url", {"url": url})
        self.run(PAGE)

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode() if body is not None else None,
            {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:500]) from None

    def command(self, path, body):
        return self.ask("POST", f"/session/{self.session}{path}", body)

    def run(self, script):
        return self.command("/execute/sync", {"script": script, "args": []})

    def wait_for(self, expression):
        """What a promise gives."""
        value = self.command("/execute/async", {
            "script": f"const done = arguments[0]; ({expression}).then((v) => done([v ?? null]), (e) => done(String(e)))", "args": []})
        if isinstance(value, str):
            raise RuntimeError(value)
        return value[0]

    def figures(self, peer, kind):
        return self.wait_for(f"kit.figures({peer}, '{kind}')")

    def close(self):
        with contextlib.suppress(Exception):
            self.ask("DELETE", f"/session/{self.session}")


def in_browser(check, **settings):
    def run(lab):
        service = Service(lab, **settings)
        browser = Browser(lab, service.url)
        try:
            return check(lab, service, browser)
        finally:
            browser.close()
    return run


def sizes(lab, service, browser):
    """Three sizes, the smallest first. Chromium sends no more than two of a picture of 640x360."""
    browser.wait_for("""kit.publish('/whip/call', kit.pictures(15, 960, 540), [
        {rid: 'q', scaleResolutionDownBy: 4}, {rid: 'h', scaleResolutionDownBy: 2}, {rid: 'f'}])""")
    taken = service.seconds_until("960x540 comes", lambda: service.lines("960x540 is relayed"))
    lab.want(taken <= 2, f"960 wide after {taken:.1f} s")
    time.sleep(10)
    leg = service.figures()["input"]
    lab.want(leg["packetsOfOtherLayers"] > 0, "the browser sends one size alone")
    lab.want(leg["packetsLost"] < 100, f"{leg['packetsLost']} packets count as lost")
    lines = service.lines("(simulcast)")
    return f"960 wide after {taken:.1f} s, {leg['packetsLost']} lost, {lines} lines"


def bypass(lab, service, browser):
    browser.wait_for("kit.publish('/whip/call', kit.pictures(30))")
    browser.wait_for("kit.watch('/whep/call')")
    service.seconds_until("pictures", lambda: service.figures()["books"]["emitted"] > 60)
    found = []
    for mode, key in (("bypass", "bypassed"), ("enhance", "emitted")):
        before = service.figures()["books"][key]
        service.change(mode=mode)
        taken = service.seconds_until(f"mode {mode} holds", lambda: service.figures()["books"][key] > before)
        lab.want(taken < 1, f"mode {mode} holds after {taken:.2f} s")
        found.append(f"{mode} after {1000 * taken:.0f} ms")
        time.sleep(2)
    return ", ".join(found)


def screen(is_first):
    """A picture in eight seconds, and a tone; somebody joins between two pictures, as the first one or beside another."""
    def check(lab, service, browser):
        browser.run("kit.tone = kit.sound(); setInterval(() => kit.draw(), 8000); window.shown = kit.pictures(0)")
        if not is_first:
            browser.wait_for("kit.watch('/whep/call')")
        browser.wait_for("kit.publish('/whip/call', shown)")
        browser.run("kit.draw(); setTimeout(kit.draw, 300)")
        service.seconds_until("a picture", lambda: service.figures()["books"]["originals"] > 0)
        time.sleep(11)
        browser.wait_for("kit.watch('/whep/call')")
        begin = time.monotonic()
        while not browser.figures("viewer", "inbound-rtp").get("framesDecoded") and time.monotonic() < begin + 10:
            time.sleep(0.05)
        joined = time.monotonic() - begin
        lab.want(joined <= 1.5, f"a viewer has a picture after {joined:.1f} s")
        time.sleep(10)
        grey = service.figures()["counters"]["slates"]
        lab.want(grey == 0, f"{grey} grey pictures")
        lines = service.lines("no pictures come") + service.lines("pictures come again")
        lab.want(lines <= 2, f"{lines} lines in 20 s")
        return f"a viewer has a picture after {joined:.1f} s, {grey} grey ones, {lines} lines"
    return check


ROWS = [
    Row("offers-modes", "H.264 offered without packetization-mode or with 0, and formats around it", "taken", offers(MODES)),
    Row("offers-formats", "offers in which nothing can be used", "406 that names what is missing", offers(FORMATS)),
    Row("offers-shapes", "offers of OBS, FFmpeg, GStreamer, browsers", "each section answered; every rid in its order", offers(SHAPES)),
    Row("sound-alone", "AV1 or VP8 beside Opus", "sound; one line and a counter for the picture", sound_alone),
    Row("crash", "a publisher who crashes and comes back", "409 with Retry-After, room after 1 s, taken over on request", crash),
    Row("simulcast", "Chromium with three sizes, the smallest first", "the largest within 2 s, nothing lost", in_browser(sizes)),
    Row("call-bypass", "mode bypass, and back, on Chromium's call", "the sender is asked: at once", in_browser(bypass, scale=1)),
    Row("screen", "Chromium with a picture in 8 s and sound", "no grey, 2 lines at most, a picture on joining", in_browser(screen(False))),
    Row("screen-without", "the same, where the output need not go on", "the same", in_browser(screen(False), keep_output="false")),
    Row("screen-first", "the same, and nobody watched before", "the same", in_browser(screen(True))),
]
