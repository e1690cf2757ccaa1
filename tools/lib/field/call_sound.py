"""The sound of calls through the service's own pages: what Chromium plays of it."""
from . import Row
from .calls import in_browser

PAGE = """
Object.assign(kit, {
  // Publishes a tone that is on the left where there are two channels, and hears the loudest sample of each side, by the page's script.
  async hear(channels) {
    const { Call } = await import("/page/webrtc.js")
    const context = new AudioContext(), tone = context.createOscillator()
    const merger = context.createChannelMerger(channels), out = new MediaStreamAudioDestinationNode(context, {channelCount: channels})
    tone.connect(merger, 0, 0).connect(out)
    tone.start()
    const publisher = new Call("/whip/call"), viewer = new Call("/whep/call")
    const [track] = out.stream.getAudioTracks()
    publisher.peer.addTransceiver(track, {direction: "sendonly"})
    await publisher.connect(true)
    for (const kind of ["video", "audio"]) viewer.peer.addTransceiver(kind, {direction: "recvonly"})
    const stream = new MediaStream()
    viewer.peer.ontrack = ({ track }) => stream.addTrack(track)
    await viewer.connect()
    // Chromium decodes what an element plays.
    const element = Object.assign(new Audio(), {srcObject: new MediaStream(stream.getAudioTracks()), muted: true})
    await element.play()
    const splitter = context.createChannelSplitter(2)
    context.createMediaStreamSource(element.srcObject).connect(splitter)
    const sides = [0, 1].map((side) => {
      const analyser = context.createAnalyser()
      splitter.connect(analyser, side)
      return () => { const all = new Float32Array(analyser.fftSize); analyser.getFloatTimeDomainData(all); return Math.max(...all.map(Math.abs)) }
    })
    const end = performance.now() + 15000
    while (sides[0]() < 0.05 && performance.now() < end) await new Promise((done) => setTimeout(done, 100))
    await new Promise((done) => setTimeout(done, 1000))
    const levels = sides.map((level) => level())
    viewer.hangUp()
    publisher.hangUp()
    return [...levels, track.getSettings().channelCount ?? 0]
  },
})
"""


def stereo(lab, service, browser):
    browser.run(PAGE)
    found = []
    for channels in (2, 1):
        left, right, count = browser.wait_for(f"kit.hear({channels})")
        found.append(f"of {channels} channels left {left:.2f}, right {right:.2f} ({count})")
        lab.want(left > 0.05, found[-1])
        lab.want(right < left / 10 if channels == 2 else right > 0.9 * left, found[-1])
    return "; ".join(found)


ROWS = [Row("stereo", "the pages' own script publishes and plays two channels, then one", "left is left, one is on both sides", in_browser(stereo))]
