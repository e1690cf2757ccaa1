"""What publishers do while they send: they change networks, sizes, layers and tracks. Chromium is the publisher, and the viewer."""
import time

import environment

from . import ROOT, Row
from .calls import Service, in_browser

PAGE = """
Object.assign(kit, {
  // A description with the candidates of `kit.family`, 4 or 6, where that is set.
  reachable: (sdp) => sdp.replace(/^a=candidate:.*\\r\\n/gm, (line) =>
    !kit.family || line.split(" ")[4].includes(":") === (kit.family === 6) ? line : ""),
  // An ICE restart (RFC 9725, 4.3.3): new names by PATCH, and new sockets.
  async restart(peer) {
    peer.restartIce()
    await peer.setLocalDescription(await peer.createOffer())
    while (peer.iceGatheringState !== "complete") await new Promise((done) => setTimeout(done, 20))
    const lines = peer.localDescription.sdp.split("\\r\\n"), first = lines.findIndex((line) => line.startsWith("m="))
    const next = lines.findIndex((line, at) => at > first && line.startsWith("m="))
    const told = ["m=", "a=mid:", "a=ice-ufrag:", "a=ice-pwd:", "a=candidate:"]
    const section = lines.slice(first, next < 0 ? undefined : next).filter((line) => told.some((each) => line.startsWith(each)))
    const answer = await fetch(peer.resource, {method: "PATCH", body: [...section, "a=end-of-candidates", ""].join("\\r\\n"),
      headers: {"Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"}})
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${answer.status} ${text}`)
    const candidates = [...new Set(text.match(/^a=candidate:.*\\r\\n/gm))].join("")
    let sdp = peer.remoteDescription.sdp.replace(/^a=candidate:.*\\r\\n/gm, "").replace(/^a=ice-ufrag:/gm, candidates + "a=ice-ufrag:")
    for (const name of ["ice-ufrag", "ice-pwd"]) {
      sdp = sdp.replace(new RegExp(`a=${name}:.*`, "g"), text.match(new RegExp(`a=${name}:.*`))[0])
    }
    await peer.setRemoteDescription({type: "answer", sdp: kit.reachable(sdp)})
  },
  // Looks at the viewer's statistics twenty times a second from now on.
  observe() {
    kit.seen = []
    const since = performance.now()
    const look = async () => {
      const all = {at: performance.now() - since}
      ;(await viewer.getStats()).forEach((each) => {
        if (each.type !== "inbound-rtp") return
        if (each.kind === "audio") all.sound = each.packetsReceived
        else Object.assign(all, {frames: each.framesDecoded, width: each.frameWidth, height: each.frameHeight})
      })
      kit.seen.push(all)
      setTimeout(look, 50)
    }
    look()
  },
  // The longest time in ms in which a count stood still, with the look that saw it go on.
  gap(name) {
    let [longest, since] = [0, kit.seen[0]]
    for (const each of kit.seen) {
      longest = Math.max(longest, each.at - since.at)
      if (each[name] !== since[name]) since = each
    }
    return Math.round(longest)
  },
  sizes: () => [...new Set(kit.seen.filter((each) => each.width).map((each) => `${each.width}x${each.height}`))],
})
"""


def begin(browser, service, publish):
    """A publisher with sound and a viewer who sees pictures."""
    browser.run(PAGE)
    browser.run("kit.tone = kit.sound()")
    browser.wait_for(publish)
    browser.wait_for("kit.watch('/whep/call')")
    service.seconds_until("the viewer sees pictures", lambda: browser.figures("viewer", "inbound-rtp").get("framesDecoded", 0) > 30)
    browser.run("kit.observe()")


def restart(families=(None, None)):
    """To other ports, and from one family of addresses to another."""
    def check(lab, service, browser):
        turn = lambda family: family and browser.run(f"kit.family = {family}")
        turn(families[0])
        begin(browser, service, "kit.publish('/whip/call', kit.pictures(30))")
        places = lambda: {each["protocol"]: each["address"] for each in service.get("/api/v1/streams/call/callers")["callers"]}
        before = places()
        time.sleep(1)
        turn(families[1])
        for peer, protocol in (("publisher", "whip"), ("viewer", "whep")):
            browser.wait_for(f"kit.restart({peer})")
            service.seconds_until(f"the {peer} is elsewhere", lambda: places()[protocol] != before[protocol])
            time.sleep(2)
        gaps, looks = [browser.run(f"return kit.gap('{name}')") for name in ("sound", "frames")], browser.run("return kit.seen.length")
        text = (f"from {', '.join(before.values())} to {', '.join(places().values())}; "
                f"in {looks} looks sound stood still for {gaps[0]} ms, pictures for {gaps[1]} ms")
        lab.want(max(gaps) <= 1000 and looks > 20, text)
        return text
    return check


# Chromium sends no more than two of a picture of 640x360: of three it leaves out the last, which is the largest here.
LAYERS = "[{rid: 'h', scaleResolutionDownBy: 2}, {rid: 'f'}]"


def starts(lab, service, browser):
    """Ten publishers, one after the other."""
    taken = []
    for number in range(10):
        lines = service.lines("640x360 is relayed")
        browser.run("window.shown = kit.pictures(15, 640, 360)")
        browser.wait_for(f"kit.publish('/whip/call?takeover=true', shown, {LAYERS})")
        taken.append(service.seconds_until(f"640 wide, start {number}", lambda: service.lines("640x360 is relayed") > lines))
        browser.run("publisher.close(); shown.stop()")
        # A line that comes again soon is held back.
        time.sleep(12)
    lab.want(max(taken) <= 2, f"640 wide after {', '.join(f'{each:.1f}' for each in taken)} s")
    return f"640 wide in {sum(each <= 2 for each in taken)} of {len(taken)} starts, after {max(taken):.1f} s at most"


def falls(lab, service, browser):
    """The largest layer stops, and comes back."""
    begin(browser, service, f"kit.publish('/whip/call', kit.pictures(15, 640, 360), {LAYERS})")
    turn = lambda on: browser.wait_for(f"""(async () => {{
        const [sender] = publisher.getSenders(), parameters = sender.getParameters()
        parameters.encodings[1].active = {str(on).lower()}
        await sender.setParameters(parameters)
    }})()""")
    service.seconds_until("640x360 comes", lambda: service.lines("640x360 is relayed"))
    time.sleep(2)
    browser.run("kit.seen = []")
    lines = service.lines("320x180 is relayed")
    turn(False)
    fallen = service.seconds_until("320x180 comes", lambda: service.lines("320x180 is relayed") > lines)
    time.sleep(1)
    gap = browser.run("return kit.gap('frames')")
    lab.want(gap <= 700, f"pictures stood still for {gap} ms")
    lines = service.lines("640x360 is relayed")
    turn(True)
    risen = service.seconds_until("640x360 comes again", lambda: service.lines("640x360 is relayed") > lines)
    time.sleep(2)
    sizes = browser.run("return kit.sizes()")
    lab.want(len(sizes) == 1, f"the viewer saw {', '.join(sizes)}")
    return f"the next layer after {1000 * fallen:.0f} ms, the largest again after {risen:.1f} s; viewers saw {', '.join(sizes)}"


class OBS:
    """Publishers with three sizes as OBS 32 sends them, and a keyframe each second."""

    def __init__(self, lab, service):
        self.lab, self.service = lab, service
        self.python = environment.from_pypi(environment.AIORTC)
        self.files = [lab.path(f"{width}.h264") for width in (640, 426, 214)]
        for file, size in zip(self.files, ("640x360", "426x240", "214x120")):
            lab.ffmpeg("-f", "lavfi", "-i", f"testsrc2=size={size}:rate=15", "-t", 8, "-c:v", "libx264", "-preset", "ultrafast", "-tune",
                       "zerolatency", "-profile:v", "baseline", "-pix_fmt", "yuv420p", "-g", 15, "-b:v", "400k", "-f", "h264", file)

    def start(self, *options):
        """A publisher that offers now."""
        running = self.lab.start([self.python, ROOT / "tools/lib/field/obs_publisher.py", f"{self.service.url}/whip/call?takeover=true",
                                  *self.files, *options])
        running.wait_for("offers")
        return running


def obs_starts(lab, service):
    obs, taken = OBS(lab, service), []
    for number in range(10):
        lines = service.lines("640x360 is relayed")
        publisher = obs.start("--seconds", 4)
        taken.append(service.seconds_until(f"640 wide, start {number}", lambda: service.lines("640x360 is relayed") > lines))
        publisher.process.wait(20)
        lab.want(publisher.process.returncode == 0, publisher.text()[-500:])
        # A line that comes again soon is held back.
        time.sleep(9)
    lab.want(max(taken) <= 2, f"640 wide after {', '.join(f'{each:.1f}' for each in taken)} s")
    return f"640 wide in {sum(each <= 2 for each in taken)} of {len(taken)} starts, after {max(taken):.1f} s at most"


def obs_falls(lab, service):
    obs = OBS(lab, service)
    publisher = obs.start("--seconds", 12, "--largest", 6)
    service.seconds_until("640x360 comes", lambda: service.lines("640x360 is relayed"))
    publisher.wait_for("the largest stops")
    fallen = service.seconds_until("426x240 comes", lambda: service.lines("426x240 is relayed"))
    lab.want(fallen <= 1.6, f"the next layer after {fallen:.2f} s")
    return f"the next layer after {1000 * fallen:.0f} ms"


def grows(codec):
    """As Firefox begins a call."""
    def check(lab, service, browser):
        browser.run(f"kit.codec = '{codec}'")
        begin(browser, service, "kit.publish('/whip/call', kit.pictures(15, 320, 180))")
        for width, height in ((480, 270), (640, 360), (320, 180)):
            time.sleep(2)
            text = f"picture: {width}x{height}"
            lines = service.lines(text)
            browser.wait_for(f"publisher.getSenders()[0].replaceTrack(kit.pictures(15, {width}, {height}))")
            service.seconds_until(f"{width} wide comes", lambda: service.lines(text) > lines)
        time.sleep(2)
        sizes, gap = browser.run("return [kit.sizes(), kit.gap('frames')]")
        lab.want(len(sizes) == 1, f"the viewer saw {', '.join(sizes)}")
        return f"four sizes; viewers saw {', '.join(sizes)}, pictures stood still for {gap} ms"
    return check


ROWS = [
    Row("restart", "Chromium restarts ICE while it publishes and while it watches", "it goes on: a gap of 1 s at most", in_browser(restart())),
    Row("restart-family", "the same, from IPv4 to IPv6", "the same", in_browser(restart((4, 6)), query="?address=127.0.0.1&address=::1")),
    Row("simulcast-starts", "ten starts of Chromium with two sizes", "640 wide within 2 s in all", in_browser(starts)),
    Row("simulcast-falls", "Chromium's largest size stops, and comes again", "the next within 500 ms, one size for viewers", in_browser(falls)),
    Row("simulcast-obs-starts", "ten starts with three sizes as OBS 32 sends them", "640 wide within 2 s in all", lambda lab: obs_starts(lab, Service(lab))),
    Row("simulcast-obs-falls", "its largest size stops; nobody answers requests for keyframes", "the next with its next keyframe",
        lambda lab: obs_falls(lab, Service(lab))),
    Row("grows-vp8", "VP8 that grows, by other tracks (replaceTrack)", "one size for viewers", in_browser(grows("VP8"))),
    Row("grows-h264", "the same with H.264", "the same", in_browser(grows("H264"))),
]
