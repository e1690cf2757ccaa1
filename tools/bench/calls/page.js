// Sends pictures with a time code over WebRTC, shows what comes back, and records every picture that is shown.
// The driver (tools/bench/compare-calls) calls `measure` and makes figures of the records.
import { draw, encode, read } from "./code.js"
import { Onsets, Tones } from "./sound.js"

const clock = () => performance.timeOrigin + performance.now()
const after = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds))

/** The test picture's moving part: detail that pans, so that the encoder has work in every frame. */
function texture(width, height) {
  const canvas = new OffscreenCanvas(width, height), context = canvas.getContext("2d", { willReadFrequently: true })
  const image = context.createImageData(width, height)
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const turn = 2 * Math.PI * x / width
      const wave = Math.sin(12 * turn) * Math.sin(y * 0.13) + 0.6 * Math.sin(31 * turn + y * 0.31)
      const bar = (Math.floor(x * 8 / width) + Math.floor(y * 6 / height)) % 7 === 0 ? 35 : 0
      image.data.set([118 + 40 * wave + bar, 112 + 45 * wave + bar, 124 + 35 * wave + bar, 255], at)
    }
  }
  context.putImageData(image, 0, 0)
  return canvas
}

/** Pictures of noise, which take an encoder many bits. */
function noise(width, height, count = 8) {
  return Array.from({ length: count }, () => {
    const canvas = new OffscreenCanvas(width / 2, height / 2), context = canvas.getContext("2d")
    const image = context.createImageData(canvas.width, canvas.height)
    for (let at = 0; at < image.data.length; at += 4) image.data.fill(256 * Math.random(), at, at + 3).fill(255, at + 3, at + 4)
    context.putImageData(image, 0, 0)
    return canvas
  })
}

/** How often a screen shows a new picture, in ms. */
const refresh = 1000 / 60

/**
 * Draws frames at their time, until it is stopped.
 *
 * A frame waits for the screen's next refresh. At exactly half of the screen's rate that wait would be the same for all frames
 * of a run, and another one in the next run. So frames come a little slower: in one run the wait passes evenly through all
 * lengths, `sweeps` times.
 */
class Source {
  static sweeps = 2

  constructor(canvas, { width, height, framesPerSecond, duration, isNoisy }) {
    Object.assign(canvas, { width, height })
    this.context = canvas.getContext("2d", { willReadFrequently: true, alpha: false })
    this.stream = canvas.captureStream(0)
    this.track = this.stream.getVideoTracks()[0]
    this.track.contentHint = "motion"
    this.texture = texture(width, height)
    this.noise = isNoisy ? noise(width, height) : []
    const interval = 1000 / framesPerSecond
    this.interval = interval * (1 + Source.sweeps * refresh / duration)
    /** [number, capture time in ms] of every frame. */
    this.sent = []
  }

  start() {
    this.begin = performance.now()
    this.frame(0)
  }

  frame(number) {
    if (this.stopped) return
    const { context, texture } = this, { width, height } = context.canvas, now = clock()
    const pan = number * Math.max(1, Math.round(width * this.interval / 10000)) % width
    context.drawImage(texture, -pan, 0)
    context.drawImage(texture, width - pan, 0)
    if (this.noise.length) {
      context.globalAlpha = 0.3
      context.drawImage(this.noise[number * 5 % this.noise.length], 0, 0, width, height)
      context.globalAlpha = 1
    }
    context.fillStyle = "#d8a040"
    context.beginPath()
    context.arc(width * (0.5 + 0.4 * Math.sin(number * 0.037)), height * 0.65, height / 9, 0, 2 * Math.PI)
    context.fill()
    draw(context, width, height, encode(Math.round(now * 1000), number & 0xffff))
    this.track.requestFrame()
    this.sent.push([number, now])
    const due = this.begin + (number + 1) * this.interval
    setTimeout(() => this.frame(number + 1), Math.max(0, due - performance.now()))
  }
}

/** A picture as it is recorded; times in ms. */
async function picture(frame, at, presentedFrames = null) {
  const { width, height } = frame.visibleRect
  try {
    const { kind, number = null, captured } = await read(frame, at * 1000)
    return { kind, number, captured: captured === undefined ? null : captured / 1000, at, presentedFrames, size: `${width}x${height}` }
  } finally {
    frame.close()
  }
}

/** Reads the pictures of a track twice: as they leave the decoder, and as they come to the screen. Hears the sound, if there is. */
class Viewer {
  constructor(video, tracks) {
    const [track, sound] = ["video", "audio"].map((kind) => tracks.find((each) => each.kind === kind))
    this.video = video
    this.shown = []
    this.decoded = []
    video.srcObject = new MediaStream(tracks)
    if (sound) {
      // Sound leaves the jitter buffer only where it is played.
      video.muted = false
      this.onsets = new Onsets(sound)
    }
    video.requestVideoFrameCallback((_, metadata) => this.show(metadata))
    this.decode(new MediaStreamTrackProcessor({ track, maxBufferSize: 10 }).readable.getReader())
  }

  show(metadata) {
    const at = performance.timeOrigin + metadata.presentationTime
    this.shown.push(picture(new VideoFrame(this.video), at, metadata.presentedFrames))
    this.video.requestVideoFrameCallback((_, next) => this.show(next))
  }

  async decode(reader) {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      this.decoded.push(picture(value, clock()))
    }
  }
}

async function signal(leg, sdp) {
  const response = await fetch(`/signal/${leg}`, { method: "POST", body: sdp })
  const text = await response.text()
  if (!response.ok) throw new Error(`${leg}: ${text}`)
  return text
}

/** Sets a local description and waits until its candidates are in it. */
async function described(peer, description) {
  await peer.setLocalDescription(description)
  while (peer.iceGatheringState !== "complete") await after(5)
  return peer.localDescription.sdp
}

/** Sends only the codec of the plan. What a server sends to viewers is its own choice: there the codec is preferred. */
function prefer(transceiver, codec, isOnly) {
  const all = RTCRtpReceiver.getCapabilities("video").codecs
  const isWanted = (c) => c.mimeType.toLowerCase() === `video/${codec}`.toLowerCase()
  const others = all.filter((c) => !isWanted(c) && (!isOnly || c.mimeType === "video/rtx"))
  transceiver.setCodecPreferences([...all.filter(isWanted), ...others])
}

async function limitRate(sender, bitRate) {
  const parameters = sender.getParameters()
  for (const encoding of parameters.encodings) encoding.maxBitrate = bitRate
  await sender.setParameters(parameters)
}

/** Adds what is sent, or asked for, to a peer connection. The browser keeps the tracks of one stream in sync. */
function add(peer, direction, tracks, plan) {
  const streams = plan.sound && tracks.length ? [new MediaStream(tracks)] : []
  const transceiver = peer.addTransceiver(tracks[0] ?? "video", { direction, streams })
  prefer(transceiver, plan.codec, direction !== "recvonly")
  if (plan.sound) peer.addTransceiver(tracks[1] ?? "audio", { direction, streams })
  return transceiver
}

/** A peer connection that offers, and the server's answer set. */
async function call(leg, direction, tracks, plan) {
  const peer = new RTCPeerConnection()
  const transceiver = add(peer, direction, tracks, plan)
  const offer = await described(peer, await peer.createOffer())
  if (tracks.length) await limitRate(transceiver.sender, plan.bitRate)
  const asked = performance.now()
  await peer.setRemoteDescription({ type: "answer", sdp: await signal(leg, offer) })
  return { peer, asked }
}

/** A peer connection that answers what the server offers. */
async function invited() {
  const peer = new RTCPeerConnection()
  const asked = performance.now()
  await peer.setRemoteDescription({ type: "offer", sdp: await signal("invite", "") })
  await signal("accept", await described(peer, await peer.createAnswer()))
  return { peer, asked }
}

/** Two peer connections in this page, each the other's server. */
async function callBetweenPeers(tracks, plan) {
  const [caller, callee] = [new RTCPeerConnection(), new RTCPeerConnection()]
  const transceiver = add(caller, "sendonly", tracks, plan)
  const asked = performance.now()
  await callee.setRemoteDescription({ type: "offer", sdp: await signal("caller", await described(caller, await caller.createOffer())) })
  const answer = await signal("callee", await described(callee, await callee.createAnswer()))
  await caller.setRemoteDescription({ type: "answer", sdp: answer })
  await limitRate(transceiver.sender, plan.bitRate)
  return { caller, callee, asked }
}

function connected(peer, leg) {
  return new Promise((done, failed) => {
    const look = () => {
      if (peer.connectionState === "connected") done()
      if (["failed", "closed"].includes(peer.connectionState)) failed(new Error(`${leg}: the connection is ${peer.connectionState}`))
    }
    peer.addEventListener("connectionstatechange", look)
    setTimeout(() => failed(new Error(`${leg}: not connected within 15 s, but ${peer.connectionState}`)), 15000)
    look()
  })
}

/** The statistics of one direction of the video, or the sound, and its codec. */
async function statistics(peer, type, kind = "video") {
  const found = {}
  const all = [...(await peer.getStats()).values()]
  for (const entry of all) {
    if (entry.type !== type || entry.kind !== kind) continue
    Object.assign(found, entry, { codec: all.find((e) => e.id === entry.codecId)?.mimeType })
  }
  return found
}

/** All that a run's figures need, at one moment. */
async function allStatistics(watching, publishing, poor, plan) {
  return {
    poor: poor && await statistics(poor, "inbound-rtp"),
    received: await statistics(watching, "inbound-rtp"), sent: publishing && await statistics(publishing, "outbound-rtp"),
    heard: plan.sound ? await statistics(watching, "inbound-rtp", "audio") : null,
  }
}

/** How far this page's clock is before the driver's, in ms, by the quickest of some exchanges. */
async function clockOffset() {
  let best = { took: Infinity }
  for (let i = 0; i < 8; i++) {
    const begin = clock(), theirs = Number(await (await fetch("/clock")).text()), end = clock()
    if (end - begin < best.took) best = { took: end - begin, offset: (begin + end) / 2 - theirs }
  }
  return best.offset
}

/** Runs one measurement. `plan` and the result are described in tools/bench/compare-calls. */
async function measure(plan) {
  const video = document.getElementById("shown"), peers = []
  const source = plan.kind === "watch" ? null : new Source(document.getElementById("sent"), plan)
  const tones = source && plan.sound ? new Tones() : null, played = tones && new Onsets(tones.track)
  const tracks = source ? [source.track, ...(tones ? [tones.track] : [])] : []
  const offset = await clockOffset()
  let watching, publishing, poor, viewer
  const show = (peer) => {
    watching = peer
    viewer = new Viewer(video, peer.getReceivers().map((receiver) => receiver.track))
  }
  source?.start()
  // A page in which nothing else is drawn sometimes does not hear of the video's pictures at all.
  const keepDrawing = () => peers.some((peer) => peer.connectionState === "closed") || requestAnimationFrame(keepDrawing)
  if (!source) keepDrawing()
  let asked
  if (plan.kind === "peers") {
    const call = await callBetweenPeers(tracks, plan)
    peers.push(call.caller, call.callee)
    ;({ asked } = call)
    publishing = call.caller
    show(call.callee)
  } else if (plan.kind === "echo") {
    const echo = await call("echo", "sendrecv", tracks, plan)
    peers.push(echo.peer)
    ;({ asked } = echo)
    publishing = echo.peer
    show(echo.peer)
  } else {
    if (source) {
      publishing = (await call("publish", "sendonly", tracks, plan)).peer
      peers.push(publishing)
      await connected(publishing, "publish")
      await after(plan.beforeWatching)
    }
    const watch = plan.kind === "room" ? await invited() : await call("watch", "recvonly", [], plan)
    peers.push(watch.peer)
    ;({ asked } = watch)
    show(watch.peer)
  }
  await connected(watching, "watch")
  for (const end = performance.now() + 15000; viewer.shown.length === 0 && performance.now() < end;) await after(20)
  if (viewer.shown.length === 0) {
    const { packetsReceived = 0, framesReceived = 0, framesDecoded = 0, pliCount = 0 } = await statistics(watching, "inbound-rtp")
    throw new Error(`no picture came within 15 s, but ${packetsReceived} packets, ${framesReceived} whole frames, ${framesDecoded} decoded, `
      + `${viewer.decoded.length} read; ${pliCount} PLIs went out; the element ${video.paused ? "is paused" : "plays"} in state ${video.readyState}, `
      + `${document.visibilityState}`)
  }
  const firstPicture = (await viewer.shown[0]).at - performance.timeOrigin - asked
  if (plan.hasPoor) {
    // A second viewer, who need not be looked at.
    poor = (await call("poor", "recvonly", [], plan)).peer
    peers.push(poor)
    await connected(poor, "poor")
    const hidden = Object.assign(document.createElement("video"), { muted: true, autoplay: true })
    hidden.srcObject = new MediaStream(poor.getReceivers().map((receiver) => receiver.track))
    document.body.append(hidden)
  }
  await signal("settle", "")
  await after(plan.warmUp)
  const before = await allStatistics(watching, publishing, poor, plan)
  const begin = clock()
  await after(plan.duration)
  const end = clock()
  const later = await allStatistics(watching, publishing, poor, plan)
  // Frames that were sent in time may still be on their way.
  await after(1000)
  if (source) source.stopped = true
  for (const peer of peers) peer.close()
  await tones?.close()
  return {
    sound: plan.sound ? { played: played?.found ?? null, heard: viewer.onsets.found, stampsBehind: viewer.onsets.offset,
      playedStampsBehind: played?.offset ?? null } : null,
    begin, end, offset, firstPicture, sent: source?.sent ?? null, before, later,
    shown: await Promise.all(viewer.shown), decoded: await Promise.all(viewer.decoded),
  }
}

window.measure = measure
