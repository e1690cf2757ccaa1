"""What publishers do while they send: they change networks, sizes, layers and tracks. Chromium is the publisher, and the viewer."""
import time

from . import Row
from .calls import in_browser

PAGE = """
Object.assign(kit, {
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
    let sdp = peer.remoteDescription.sdp
    for (const name of ["ice-ufrag", "ice-pwd"]) {
      sdp = sdp.replace(new RegExp(`a=${name}:.*`, "g"), text.match(new RegExp(`a=${name}:.*`))[0])
    }
    await peer.setRemoteDescription({type: "answer", sdp})
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
  // The longest time in ms in which a count stood still.
  gap(name) {
    let [longest, since] = [0, kit.seen[0]]
    for (const each of kit.seen) {
      if (each[name] !== since[name]) since = each
      longest = Math.max(longest, each.at - since.at)
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


def restart(lab, service, browser):
    begin(browser, service, "kit.publish('/whip/call', kit.pictures(30))")
    places = lambda: {each["protocol"]: each["address"] for each in service.get("/api/v1/streams/call/callers")["callers"]}
    before = places()
    time.sleep(1)
    for peer, protocol in (("publisher", "whip"), ("viewer", "whep")):
        browser.wait_for(f"kit.restart({peer})")
        service.seconds_until(f"the {peer} is elsewhere", lambda: places()[protocol] != before[protocol])
        time.sleep(2)
    gaps = [browser.run(f"return kit.gap('{name}')") for name in ("sound", "frames")]
    lab.want(max(gaps) <= 1000, f"sound stood still for {gaps[0]} ms, pictures for {gaps[1]} ms")
    return f"both from other ports; sound stood still for {gaps[0]} ms, pictures for {gaps[1]} ms"


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
    Row("restart", "Chromium restarts ICE while it publishes and while it watches", "it goes on: a gap of 1 s at most", in_browser(restart)),
    Row("simulcast-starts", "ten starts of Chromium with two sizes", "640 wide within 2 s in all", in_browser(starts)),
    Row("simulcast-falls", "Chromium's largest size stops, and comes again", "the next within 500 ms, one size for viewers", in_browser(falls)),
    Row("grows-vp8", "VP8 that grows, by other tracks (replaceTrack)", "one size for viewers", in_browser(grows("VP8"))),
    Row("grows-h264", "the same with H.264", "the same", in_browser(grows("H264"))),
]
