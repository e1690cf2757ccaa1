// Tones whose way from the page to the page can be timed: a burst every half second, each of another pitch than its neighbours.

const clock = () => performance.timeOrigin + performance.now()
const rate = 48000, interval = 0.5, tones = 8, length = 0.06, loud = 0.5
const pitch = (tone) => 500 + 300 * tone

/** Plays the tones in turn, again and again, into a track. */
export class Tones {
  constructor() {
    this.context = new AudioContext({ sampleRate: rate, latencyHint: "interactive" })
    const destination = new MediaStreamAudioDestinationNode(this.context, { channelCount: 1 })
    const buffer = this.context.createBuffer(1, tones * interval * rate, rate), samples = buffer.getChannelData(0)
    for (let tone = 0; tone < tones; tone++) {
      const begin = (tone + 0.5) * interval * rate
      for (let i = 0; i < length * rate; i++) samples[begin + i] = loud * Math.sin(2 * Math.PI * pitch(tone) * i / rate)
    }
    const player = new AudioBufferSourceNode(this.context, { buffer, loop: true })
    player.connect(destination)
    player.start()
    this.track = destination.stream.getAudioTracks()[0]
  }

  close() {
    return this.context.close()
  }
}

const quiet = 0.1, pause = 0.1, listened = 0.04

/**
 * Finds where tones begin in a track. The browser stamps each 10 ms of sound when it hands them over, so a busy page does not
 * make the times worse: on the sending side the sound enters the encoder then, on the receiving side it leaves the jitter buffer.
 */
export class Onsets {
  constructor(track) {
    /** { at: by the browser's stamps, in ms; tone; read: when the page saw it, by its clock } of every burst. */
    this.found = []
    /** How far the page's clock is before the stamps, in ms, at most: by the chunk that was read soonest. */
    this.offset = Infinity
    this.silence = 0
    this.burst = null
    this.listen(new MediaStreamTrackProcessor({ track, maxBufferSize: 50 }).readable.getReader())
  }

  async listen(reader) {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      const samples = new Float32Array(value.numberOfFrames), begin = value.timestamp / 1000, step = 1000 / value.sampleRate
      value.copyTo(samples, { planeIndex: 0, format: "f32-planar" })
      value.close()
      this.offset = Math.min(this.offset, clock() - begin)
      samples.forEach((sample, i) => this.add(sample, begin + i * step, step / 1000))
    }
  }

  add(sample, at, seconds) {
    const isLoud = Math.abs(sample) > quiet
    if (this.burst) {
      const burst = this.burst
      burst.crossings += burst.last < 0 && sample >= 0
      burst.last = sample
      burst.time += seconds
      if (burst.time >= listened) {
        this.found.push({ at: burst.at, tone: Math.round((burst.crossings / burst.time - pitch(0)) / 300), read: clock() })
        this.burst = null
        this.silence = 0
      }
    } else if (!isLoud) {
      this.silence += seconds
    } else {
      if (this.silence >= pause) this.burst = { at, crossings: 0, last: sample, time: 0 }
      this.silence = 0
    }
  }
}
