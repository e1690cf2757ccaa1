// One guest of a room: a picture, a name, and whether they speak.

import { button, made, text } from "/page/elements.js";
import { after, Call } from "/page/webrtc.js";

const words = { none: "no picture", enhanced: "enhanced", asSent: "as sent" };
// As a share of the loudest.
const speakingLevel = 0.02;
const retryInterval = 700;

export class Tile {
  #call; #isOver = false; #caption; #pictures; #asSent; #layer = "auto";

  // - remove: does it; undefined for guests who may not.
  constructor(guest, isOwn, headers, remove) {
    this.guest = guest;
    this.headers = headers;
    this.video = made("video", { autoplay: true, playsinline: true });
    this.video.muted = isOwn;
    this.#caption = made("span");
    this.#pictures = made("span", { class: "pictures" });
    this.#asSent = button("As sent", () => this.#choose(), {
      class: "plain", "aria-pressed": "false", "aria-label": `As ${guest.name} sends it`, hidden: true,
    });
    const caption = made("figcaption", {}, this.#caption, this.#pictures, this.#asSent);
    if (remove && !isOwn) caption.append(button("Remove", remove, { class: "plain", "aria-label": `Remove ${guest.name}` }));
    this.element = made("figure", { class: isOwn ? "tile own" : "tile" }, this.video, caption);
    this.show(guest);
    if (!isOwn && guest.watch) this.#watch();
  }

  show(guest) {
    this.guest = guest;
    text(this.#caption, guest.name + (guest.host ? " (host)" : ""));
    const isEnhanced = guest.pictures === "enhanced";
    this.#asSent.hidden = this.video.muted || !guest.watch || !isEnhanced;
    text(this.#pictures, guest.watch ? words[isEnhanced && this.#layer === "sent" ? "asSent" : guest.pictures] : "watches");
  }

  // The guest's own pictures, or again the enhanced ones as far as the link carries them.
  #choose() {
    this.#layer = this.#layer === "sent" ? "auto" : "sent";
    this.#asSent.setAttribute("aria-pressed", String(this.#layer === "sent"));
    this.show(this.guest);
    // Where the call is lost, the next one asks for it.
    this.#call?.choose(this.#layer).catch(() => {});
  }

  // Until the guest has left. A stream that is about to start, or whose connection was lost, is called again.
  async #watch() {
    while (!this.#isOver) {
      const call = this.#call = new Call(this.guest.watch, this.headers, this.#layer);
      const media = new MediaStream();
      this.video.srcObject = media;
      call.peer.ontrack = ({ track }) => media.addTrack(track);
      for (const kind of ["video", "audio"]) call.peer.addTransceiver(kind, { direction: "recvonly" });
      const lost = new Promise((done) => call.watchOver(done));
      try {
        await call.connect();
        this.video.play().catch(() => {});
        await lost;
      } catch { /* The stream is not there yet, or not any more. */ }
      call.hangUp();
      if (!this.#isOver) await after(retryInterval);
    }
  }

  // - own: the level of the own microphone, for the own tile.
  listen(own) {
    const receiver = this.#call?.peer.getReceivers().find(({ track }) => track.kind === "audio");
    const level = own ?? receiver?.getSynchronizationSources()[0]?.audioLevel ?? 0;
    this.element.classList.toggle("speaks", level > speakingLevel);
  }

  // What has come so far.
  async figures() {
    const sum = { bytes: 0, packets: 0, lost: 0 };
    if (!this.#call) return sum;
    for (const each of (await this.#call.peer.getStats()).values()) {
      if (each.type !== "inbound-rtp") continue;
      sum.bytes += each.bytesReceived ?? 0;
      sum.packets += each.packetsReceived ?? 0;
      sum.lost += each.packetsLost ?? 0;
      if (each.kind === "video") this.#call.tell(each.freezeCount);
    }
    return sum;
  }

  end() {
    this.#isOver = true;
    this.#call?.hangUp();
    this.element.remove();
  }
}
