// Stills and clips of the moment that was just seen. A still is there at once, as a proxy; the final one takes its place once it is made.

import { api } from "/page/api.js";
import { find, made, text } from "/page/elements.js";
import { mayChange } from "/page/signing.js";

const pause = 1000;
// The page shows so many.
const most = 6;

const reasons = {
  off: "There is no folder to save stills and clips in.",
  starting: "The stream is being started.",
  waitingForPicture: "Nothing to save yet: somebody must receive the output.",
  waitingForProcessing: "As many are being made as may be. There is room again in a while.",
};

export class Captures {
  // Whether the stream keeps its past.
  isKept = false;
  #stream; #readiness; #stamp; #report;

  // - report: is told of faults.
  constructor(report) {
    this.#report = report;
    find("take-still").addEventListener("click", () => { if (mayChange()) this.#takeStill().catch(report); });
    find("take-clip").addEventListener("click", () => { if (mayChange()) this.#takeClip().catch(report); });
    this.#followVideo();
  }

  // Follows the chosen stream.
  follow(stream) {
    const past = stream.settings.past ?? "0s";
    const isKept = this.isKept = /[1-9]/.test(past);
    if (stream.name !== this.#stream?.name) {
      this.#readiness = undefined;
      find("taken").replaceChildren();
    }
    this.#stream = { name: stream.name, past };
    find("captures").hidden = !isKept;
    text(find("kept"), isKept ? `The last ${past} of this stream are kept. Who may change it can save stills and clips of them.` : "");
    text(find("take-clip"), `Clip of the last ${past}`);
    this.#show();
  }

  // Asks whether something can be saved now.
  async renew() {
    if (find("captures").hidden || !this.#stream) return;
    const { name } = this.#stream;
    const readiness = await api.readiness(name);
    if (name !== this.#stream.name) return;
    this.#readiness = readiness;
    this.#show();
  }

  #show() {
    const { still, clip } = this.#readiness ?? {};
    find("take-still").disabled = still !== "ready";
    find("take-clip").disabled = clip !== "ready";
    text(find("captures-why"), reasons[still] ?? reasons[clip] ?? "");
  }

  // The time stamp of the picture that the viewer's own player shows.
  #followVideo() {
    const video = find("call-after");
    if (!video.requestVideoFrameCallback) return;
    const note = (_, { rtpTimestamp }) => {
      this.#stamp = rtpTimestamp;
      video.requestVideoFrameCallback(note);
    };
    video.requestVideoFrameCallback(note);
  }

  async #takeStill() {
    const { name } = this.#stream;
    const isWatching = !find("call-after-frame").hidden && this.#stamp != null;
    const quality = this.#readiness?.best === "ready" ? "best" : "fast";
    const place = isWatching ? { rtp: this.#stamp } : { at: "0s" };
    const { number } = await api.makeStill(name, { ...place, quality });
    const image = made("img", { alt: `Still ${number}` });
    const caption = made("span");
    const link = made("a", {}, "Download");
    const entry = this.#add(image, made("p", { class: "caption" }, caption, link));
    for (;;) {
      const { blob, isFinal } = await api.still(name, number, image.src ? 5 : 0);
      this.#put(image, link, blob, `${name}-still-${number}`);
      if (isFinal) return text(caption, `Still ${number}`);
      const isComing = (await api.deferred(name)).some((each) => each.kind === "still" && each.number === number);
      text(caption, `Still ${number}: a quick one. ${isComing ? "A better one takes its place when there is time." : ""}`);
      // It may have come between the two questions.
      if (!isComing && !(await api.still(name, number, 0)).isFinal) return;
      if (!entry.isConnected) return;
      await new Promise((done) => setTimeout(done, pause));
    }
  }

  async #takeClip() {
    const { name, past } = this.#stream;
    const { number } = await api.makeClip(name, { from: `-${past}`, to: "0s" });
    const caption = made("span", {}, `Clip ${number} is being cut.`);
    const entry = this.#add(made("p", { class: "caption" }, caption));
    for (;;) {
      const { state, file, reason } = await api.clip(name, number);
      if (state === "ready") return text(caption, `Clip ${number}: ${file} on the service's machine`);
      if (state === "failed") return text(caption, `Clip ${number} has failed: ${reason}`);
      if (!entry.isConnected) return;
      await new Promise((done) => setTimeout(done, pause));
    }
  }

  #add(...children) {
    const entry = made("li", {}, ...children);
    find("taken").prepend(entry);
    while (find("taken").children.length > most) find("taken").lastElementChild.remove();
    return entry;
  }

  #put(image, link, blob, name) {
    const old = image.getAttribute("src");
    image.src = URL.createObjectURL(blob);
    link.href = image.src;
    link.download = `${name}.${blob.type === "image/png" ? "png" : "jpg"}`;
    if (old) URL.revokeObjectURL(old);
  }
}
