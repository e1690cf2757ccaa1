// Four people in one page: each draws a time code and sees the others, through a room or directly. `measure` gives the latencies.
import { draw, encode, read } from "./code.js"

const clock = () => performance.timeOrigin + performance.now()
const after = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds))
const width = 320, height = 180, interval = 1000 / 15

/** Draws a frame at each of its times: what pans, so that the encoder has work, and the time code. */
class Source {
  constructor(seed) {
    this.canvas = Object.assign(document.createElement("canvas"), { width, height })
    this.context = this.canvas.getContext("2d", { willReadFrequently: true, alpha: false })
    this.stream = this.canvas.captureStream(0)
    this.track = this.stream.getVideoTracks()[0]
    this.track.contentHint = "motion"
    this.seed = seed
    this.begin = performance.now() + seed * interval / 4
    this.frame(0)
  }

  frame(number) {
    if (this.isOver) return
    const { context } = this
    for (let column = 0; column < 16; column++) {
      context.fillStyle = `hsl(${(column * 23 + number * 2 + this.seed * 90) % 360} 50% 50%)`
      context.fillRect(column * width / 16, 0, width / 16, height)
    }
    context.fillStyle = "#d8a040"
    context.fillRect(number * 3 % width, height * 0.6, 40, 40)
    draw(context, width, height, encode(Math.round(clock() * 1000), number & 0xffff))
    this.track.requestFrame()
    setTimeout(() => this.frame(number + 1), Math.max(0, this.begin + (number + 1) * interval - performance.now()))
  }
}

/** Reads the pictures of a track as they leave the decoder. */
class Viewer {
  latencies = []

  async take(track) {
    const reader = new MediaStreamTrackProcessor({ track, maxBufferSize: 10 }).readable.getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      const at = clock()
      try {
        const { kind, captured } = await read(value, at * 1000)
        if (kind === "code") this.latencies.push([at, at - captured / 1000])
      } finally { value.close() }
    }
  }
}

async function described(peer, description) {
  await peer.setLocalDescription(description)
  while (peer.iceGatheringState !== "complete") await after(5)
  return peer.localDescription.sdp
}

function onlyH264(transceiver) {
  const all = RTCRtpReceiver.getCapabilities("video").codecs
  transceiver.setCodecPreferences(all.filter((codec) => ["video/H264", "video/rtx"].includes(codec.mimeType)))
}

async function offer(path, token, sdp) {
  for (;;) {
    const response = await fetch(`/offer${path}?token=${token}`, { method: "POST", body: sdp })
    if (response.status === 503) { await after(100); continue }
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${text}`)
    return text
  }
}

async function connectDirectly(source, viewer, peers) {
  const [from, to] = [new RTCPeerConnection(), new RTCPeerConnection()]
  peers.push(from, to)
  onlyH264(from.addTransceiver(source.track, { direction: "sendonly" }))
  to.ontrack = ({ track }) => viewer.take(track)
  await to.setRemoteDescription({ type: "offer", sdp: await described(from, await from.createOffer()) })
  await from.setRemoteDescription({ type: "answer", sdp: await described(to, await to.createAnswer()) })
}

async function publish(source, { publish, token }, peers) {
  const peer = new RTCPeerConnection()
  peers.push(peer)
  onlyH264(peer.addTransceiver(source.track, { direction: "sendonly" }))
  const sdp = await described(peer, await peer.createOffer())
  await peer.setRemoteDescription({ type: "answer", sdp: await offer(publish, token, sdp) })
}

async function watch(viewer, path, token, peers) {
  const peer = new RTCPeerConnection()
  peers.push(peer)
  onlyH264(peer.addTransceiver("video", { direction: "recvonly" }))
  peer.ontrack = ({ track }) => viewer.take(track)
  const sdp = await described(peer, await peer.createOffer())
  await peer.setRemoteDescription({ type: "answer", sdp: await offer(path, token, sdp) })
}

/**
 * - guests: what each has of a room; undefined connects them directly.
 * - count, seconds: how many there are, and how long is measured, after as many seconds as `settle` says.
 * Returns the latencies in ms that each viewer saw, from drawing to the decoder's output.
 */
window.measure = async ({ guests, count, seconds, settle }) => {
  const sources = Array.from({ length: count }, (_, seed) => new Source(seed)), peers = [], views = []
  try {
    if (guests) for (const [index, guest] of guests.entries()) await publish(sources[index], guest, peers)
    for (let to = 0; to < count; to++) {
      for (let from = 0; from < count; from++) {
        if (from === to) continue
        const viewer = new Viewer()
        views.push(viewer)
        if (guests) await watch(viewer, guests[from].watch, guests[to].token, peers)
        else await connectDirectly(sources[from], viewer, peers)
      }
    }
    const end = performance.now() + 30000
    while (views.some(({ latencies }) => !latencies.length) && performance.now() < end) await after(50)
    await after(settle * 1000)
    const begin = clock()
    await after(seconds * 1000)
    return views.map(({ latencies }) => latencies.filter(([at]) => at >= begin).map(([, latency]) => latency))
  } finally {
    for (const source of sources) source.isOver = true
    for (const peer of peers) peer.close()
  }
}
