// The delay of a call from the camera to the screen, put together from what each part says of itself.

// One direction of a call between two looks at its statistics. Times are in seconds; what is not known is undefined.
export class Delay {
  #last;

  // - kind: `outbound-rtp` for what is sent, `inbound-rtp` for what is watched.
  constructor(kind) { this.kind = kind; }

  // - all: the statistics of the connection.
  look(all) {
    const pair = all.find((each) => each.type === "candidate-pair" && each.nominated);
    const video = all.find((each) => each.type === this.kind && each.kind === "video");
    const before = this.#last ?? {};
    this.#last = video;
    const mean = (total, count) => {
      const frames = (video?.[count] ?? 0) - (before[count] ?? 0);
      return frames > 0 && video[total] != null ? (video[total] - (before[total] ?? 0)) / frames : undefined;
    };
    const way = pair?.currentRoundTripTime == null ? undefined : pair.currentRoundTripTime / 2;
    const parts = this.kind === "outbound-rtp"
      ? { encoding: mean("totalEncodeTime", "framesEncoded"), sending: mean("totalPacketSendDelay", "packetsSent"), "way there": way }
      : { "way back": way, buffer: mean("jitterBufferDelay", "jitterBufferEmittedCount"), decoding: mean("totalDecodeTime", "framesDecoded") };
    return { parts, video };
  }
}

// In words. What is missing is named, as well as what cannot be measured here.
export function sentence(parts) {
  const known = Object.entries(parts).filter(([, seconds]) => seconds != null);
  const missing = Object.keys(parts).filter((name) => parts[name] == null);
  const total = known.reduce((sum, [, seconds]) => sum + seconds, 0);
  return `from camera to picture about ${ms(total)} (${known.map(([name, seconds]) => `${name} ${ms(seconds)}`).join(", ")}), `
    + `without ${[...missing, "camera", "screen"].join(", ").replace(/, (\w+)$/, " and $1")}`;
}

const ms = (seconds) => `${Math.round(seconds * 1000)} ms`;
