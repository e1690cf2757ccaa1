// A room: enter by a link, see and hear the others.

import { api, bearer } from "/page/api.js";
import { find, text } from "/page/elements.js";
import { bitRate, percent } from "/page/formats.js";
import { Tile } from "/page/tiles.js";
import { after, Call, reason, refusal } from "/page/webrtc.js";

const askingInterval = 1000;
const listeningInterval = 200;
const retryInterval = 700;
// What a stream enlarges twice in real time on a small machine.
const camera = { width: { ideal: 640 }, height: { ideal: 360 }, frameRate: { ideal: 30 } };

const name = decodeURIComponent(location.pathname.split("/")[2] ?? "");
const token = location.hash.slice(1);

class Room {
  #pass; #seat; #media = new MediaStream(); #sent; #tiles = new Map(); #isOver = true; #screen; #before; #level = 0;

  constructor() {
    text(find("room"), name);
    document.title = `Burnish: ${name}`;
    find("entrance").addEventListener("submit", (event) => { event.preventDefault(); this.#enter(); });
    for (const id of ["with-camera", "with-microphone"]) find(id).addEventListener("change", () => this.#preview());
    find("mute").addEventListener("click", ({ target }) => this.#toggle(target, "audio"));
    find("hide").addEventListener("click", ({ target }) => this.#toggle(target, "video"));
    find("share").addEventListener("click", () => this.#share());
    find("leave").addEventListener("click", () => this.#leave());
    addEventListener("pagehide", () => this.#leave());
    setInterval(() => this.#ask().catch(() => {}), askingInterval);
    setInterval(() => this.#listen(), listeningInterval);
    if (!token) return this.#fault("This address has no link behind its #: ask the host for one.");
    const why = refusal();
    if (why) this.#fault(`${why} You can watch.`);
    else this.#preview();
  }

  #fault(message) { text(find("fault"), message ?? ""); }

  // Takes camera and microphone, as far as the boxes say so.
  async #preview() {
    this.#media.getTracks().forEach((track) => track.stop());
    const [video, audio] = [find("with-camera").checked && camera, find("with-microphone").checked];
    try {
      this.#media = video || audio ? await navigator.mediaDevices.getUserMedia({ video, audio }) : new MediaStream();
      this.#fault();
    } catch (error) {
      this.#media = new MediaStream();
      this.#fault(reason(error));
    }
    find("preview").srcObject = this.#media;
  }

  async #enter() {
    find("enter").disabled = true;
    try {
      const { pass, guest } = await api.enterRoom(name, token, find("called").value);
      this.#fault();
      this.#pass = pass;
      this.#seat = guest.seat;
      this.#isOver = false;
      find("entrance").hidden = true;
      find("grid").hidden = find("bar").hidden = false;
      if (guest.publish && this.#media.getTracks().length) this.#publish(guest.publish);
      await this.#ask();
    } catch (error) {
      this.#fault(error.message);
    }
    find("enter").disabled = false;
  }

  // Until this guest leaves. The stream starts a moment after its guest has entered.
  async #publish(path) {
    while (!this.#isOver) {
      const call = this.#sent = new Call(path, bearer(this.#pass));
      for (const track of this.#media.getTracks()) {
        call.peer.addTransceiver(track, { direction: "sendonly", streams: [this.#media] });
      }
      const lost = new Promise((done) => call.watchOver(done));
      try {
        await call.connect(true);
        await lost;
      } catch { /* The stream is not there yet. */ }
      call.hangUp();
      if (!this.#isOver) await after(retryInterval);
    }
  }

  // Who is there. By this the service knows that this guest is, too.
  async #ask() {
    if (this.#isOver) return;
    let answer;
    try {
      answer = await api.guests(name, this.#pass);
    } catch (error) {
      // The host has removed this guest, or the service has begun anew.
      if (error.status === 401 || error.status === 404) { this.#end(); this.#fault(error.message); }
      return;
    }
    if (this.#isOver) return;
    const isHost = answer.guests.find(({ seat }) => seat === this.#seat)?.host;
    const seats = new Set(answer.guests.map(({ seat, name: called }) => `${seat} ${called}`));
    for (const [key, tile] of this.#tiles) if (!seats.has(key)) { tile.end(); this.#tiles.delete(key); }
    for (const guest of answer.guests) {
      const key = `${guest.seat} ${guest.name}`;
      if (this.#tiles.has(key)) { this.#tiles.get(key).show(guest); continue; }
      const isOwn = guest.seat === this.#seat;
      const remove = isHost && !isOwn ? () => api.leaveRoom(name, this.#pass, guest.seat).catch(() => {}) : undefined;
      const tile = new Tile(guest, isOwn, bearer(this.#pass), remove);
      if (isOwn) tile.video.srcObject = this.#media;
      this.#tiles.set(key, tile);
      find("grid").append(tile.element);
    }
    await this.#showLink();
  }

  // What the own link carries.
  async #showLink() {
    const sum = { time: performance.now(), bytes: 0, packets: 0, lost: 0, sent: 0 };
    for (const tile of this.#tiles.values()) {
      const { bytes, packets, lost } = await tile.figures();
      sum.bytes += bytes; sum.packets += packets; sum.lost += lost;
    }
    this.#level = 0;
    let room;
    for (const each of this.#sent ? (await this.#sent.peer.getStats()).values() : []) {
      if (each.type === "outbound-rtp") sum.sent += each.bytesSent ?? 0;
      if (each.type === "candidate-pair" && each.nominated) room = each.availableOutgoingBitrate;
      if (each.type === "media-source" && each.kind === "audio") this.#level = each.audioLevel ?? 0;
    }
    const before = this.#before;
    this.#before = sum;
    if (!before) return;
    const seconds = (sum.time - before.time) / 1000;
    const rate = (key) => Math.max(0, sum[key] - before[key]) * 8 / seconds;
    const [came, lost] = [Math.max(0, sum.packets - before.packets), Math.max(0, sum.lost - before.lost)];
    const parts = [`receives ${bitRate(rate("bytes"))}`, `sends ${bitRate(rate("sent"))}${room ? ` of ${bitRate(room)}` : ""}`];
    if (came + lost > 0) parts.push(`${percent(lost / (came + lost))} lost`);
    text(find("carries"), parts.join(" · "));
  }

  #listen() {
    for (const tile of this.#tiles.values()) tile.listen(tile.guest.seat === this.#seat ? this.#level : undefined);
  }

  #toggle(control, kind) {
    const isOff = control.getAttribute("aria-pressed") !== "true";
    control.setAttribute("aria-pressed", String(isOff));
    for (const track of this.#media.getTracks()) if (track.kind === kind) track.enabled = !isOff;
  }

  // The screen in place of the camera, until it is pressed again or the browser's own bar ends it.
  async #share() {
    const sender = this.#sent?.peer.getSenders().find(({ track }) => track?.kind === "video");
    if (!sender) return this.#fault("Enter with a camera first: the screen takes its place.");
    if (this.#screen) return this.#endScreen(sender);
    try {
      const media = await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { ideal: 15 } } });
      [this.#screen] = media.getVideoTracks();
      this.#screen.addEventListener("ended", () => this.#endScreen(sender));
      await sender.replaceTrack(this.#screen);
      find("share").setAttribute("aria-pressed", "true");
    } catch (error) {
      this.#fault(reason(error));
    }
  }

  async #endScreen(sender) {
    this.#screen?.stop();
    this.#screen = undefined;
    find("share").setAttribute("aria-pressed", "false");
    await sender.replaceTrack(this.#media.getVideoTracks()[0] ?? null).catch(() => {});
  }

  #leave() {
    if (this.#isOver) return;
    api.leaveRoom(name, this.#pass, this.#seat).catch(() => {});
    this.#end();
  }

  #end() {
    this.#isOver = true;
    this.#sent?.hangUp();
    this.#sent = undefined;
    this.#screen?.stop();
    this.#screen = undefined;
    for (const tile of this.#tiles.values()) tile.end();
    this.#tiles.clear();
    this.#before = undefined;
    text(find("carries"), "");
    find("grid").hidden = find("bar").hidden = true;
    find("entrance").hidden = false;
  }
}

new Room();
