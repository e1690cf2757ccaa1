// Publishes to the chosen stream and watches it, by WebRTC: WHIP and WHEP of this service.

const statisticsInterval = 1000;
// The service's end is ICE-lite with addresses of its own: the peer's own candidates are all that is needed.
const gatheringLimit = 1000;

const after = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// One call: an offer that is answered, and a resource that ends it.
class Call {
  constructor(path) {
    this.path = path;
    this.peer = new RTCPeerConnection();
  }

  async connect(send) {
    const { peer } = this;
    await peer.setLocalDescription(await peer.createOffer());
    const end = performance.now() + gatheringLimit;
    while (peer.iceGatheringState !== "complete" && performance.now() < end) await after(20);
    const response = await send(this.path, {
      method: "POST", headers: { "Content-Type": "application/sdp" }, body: peer.localDescription.sdp,
    });
    this.resource = new URL(response.headers.get("Location"), location.origin + this.path).pathname;
    const sdp = await response.text();
    // The user may have ended it meanwhile.
    if (peer.signalingState === "closed") return this.hangUp();
    await peer.setRemoteDescription({ type: "answer", sdp });
  }

  hangUp() {
    const { peer, resource } = this;
    this.resource = undefined;
    if (!resource) return peer.close();
    // The connection's own goodbye would overtake the request, which would then end a call that is over.
    fetch(resource, { method: "DELETE", credentials: "same-origin", keepalive: true }).catch(() => {}).finally(() => peer.close());
  }

  async statistics() { return [...(await this.peer.getStats()).values()]; }
}

// Why this browser gives no camera to this page; undefined where it does.
function refusal() {
  if (typeof RTCPeerConnection === "undefined") return "This browser has no WebRTC.";
  if (!isSecureContext) {
    return "Browsers give camera, screen and microphone only to pages that come by HTTPS, or from localhost. "
      + "This page came by plain HTTP: open it by HTTPS, or on the service's own machine.";
  }
  if (!navigator.mediaDevices) return "This browser gives this page neither camera nor screen.";
  return undefined;
}

function reason(error) {
  const reasons = {
    NotAllowedError: "The browser was not allowed to use it: allow camera, screen or microphone for this page.",
    NotFoundError: "There is no such device on this computer.",
    NotReadableError: "Another program uses the device.",
  };
  return reasons[error.name] ?? error.message;
}

export class Calls {
  #section; #find; #send; #text; #published; #watched; #stream; #serverLatency = () => undefined;

  // - find: gives the page's element of an id. - send: a request to the service, which throws what is wrong.
  constructor(section, find, send, text, serverLatency) {
    this.#section = section;
    this.#find = find;
    this.#send = send;
    this.#text = text;
    this.#serverLatency = serverLatency;
    find("call-camera").addEventListener("click", () => this.#publish("camera"));
    find("call-screen").addEventListener("click", () => this.#publish("screen"));
    find("call-stop").addEventListener("click", () => this.#stopPublishing());
    find("call-watch").addEventListener("click", () => this.#watched ? this.#stopWatching() : this.#watch());
    find("call-sound").addEventListener("change", ({ target }) => { find("call-after").muted = !target.checked; });
    addEventListener("pagehide", () => this.#end());
    setInterval(() => this.#showFigures().catch(() => {}), statisticsInterval);
  }

  // Follows the chosen stream: its `whip:` input and its first `whep:` output.
  follow(stream) {
    const name = (url) => url.slice(5).split("?")[0];
    const input = stream.input.startsWith("whip:") ? `/whip/${name(stream.input)}` : undefined;
    const output = stream.outputs.find((url) => url.startsWith("whep:"));
    const next = { name: stream.name, input, output: output && `/whep/${name(output)}` };
    if (this.#stream && JSON.stringify(next) === JSON.stringify(this.#stream)) return;
    this.#end();
    this.#stream = next;
    this.#section.hidden = !next.input && !next.output;
    this.#find("call-publishing").hidden = !next.input;
    this.#find("call-watching").hidden = !next.output;
    this.#show();
  }

  #fault(message) { this.#text(this.#find("call-fault"), message ?? ""); }

  #show() {
    const why = refusal();
    this.#text(this.#find("call-why"), this.#stream?.input ? why ?? "" : "");
    for (const id of ["call-camera", "call-screen", "call-microphone"]) this.#find(id).disabled = !!why || !!this.#published;
    this.#find("call-stop").hidden = !this.#published;
    this.#find("call-before-frame").hidden = !this.#published;
    this.#find("call-after-frame").hidden = !this.#watched;
    this.#find("call-watch").disabled = typeof RTCPeerConnection === "undefined";
    this.#text(this.#find("call-watch"), this.#watched ? "Stop watching" : "Watch");
    if (!this.#published && !this.#watched) this.#text(this.#find("call-figures"), "");
  }

  async #publish(kind) {
    this.#fault();
    const call = this.#published = new Call(this.#stream.input);
    this.#show();
    try {
      const audio = this.#find("call-microphone").checked;
      // 640x360 is what a stream enlarges twice in real time on a small machine. A screen keeps its own size.
      call.media = kind === "camera"
        ? await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 }, height: { ideal: 360 }, frameRate: { ideal: 30 } }, audio })
        : await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { ideal: 30 } }, audio });
      if (this.#published !== call) return this.#release(call);
      this.#find("call-before").srcObject = call.media;
      for (const track of call.media.getTracks()) {
        call.peer.addTransceiver(track, { direction: "sendonly", streams: [call.media] });
        // The user can also end it in the browser's own bar.
        track.addEventListener("ended", () => { if (this.#published === call) this.#stopPublishing(); });
      }
      this.#watchOver(call, () => this.#stopPublishing("The connection to the service was lost."));
      await call.connect(this.#send);
    } catch (error) {
      if (this.#published === call) this.#stopPublishing(error.isSignInNeeded ? "" : reason(error));
    }
  }

  async #watch() {
    this.#fault();
    const call = this.#watched = new Call(this.#stream.output);
    this.#show();
    try {
      const media = new MediaStream();
      this.#find("call-after").srcObject = media;
      call.peer.ontrack = ({ track }) => media.addTrack(track);
      for (const kind of ["video", "audio"]) call.peer.addTransceiver(kind, { direction: "recvonly" });
      this.#watchOver(call, () => this.#stopWatching("The connection to the service was lost."));
      await call.connect(this.#send);
    } catch (error) {
      if (this.#watched === call) this.#stopWatching(error.isSignInNeeded ? "" : reason(error));
    }
  }

  #watchOver(call, lost) {
    call.peer.addEventListener("connectionstatechange", () => { if (call.peer.connectionState === "failed") lost(); });
  }

  #release(call) {
    call.media?.getTracks().forEach((track) => track.stop());
    call.hangUp();
  }

  #stopPublishing(fault) {
    if (this.#published) this.#release(this.#published);
    this.#published = undefined;
    this.#find("call-before").srcObject = null;
    this.#fault(fault);
    this.#show();
  }

  #stopWatching(fault) {
    if (this.#watched) this.#release(this.#watched);
    this.#watched = undefined;
    this.#find("call-after").srcObject = null;
    this.#fault(fault);
    this.#show();
  }

  #end() {
    if (this.#published) this.#stopPublishing();
    if (this.#watched) this.#stopWatching();
  }

  // The delay on the way, put together from what each part says of itself.
  async #showFigures() {
    if (document.hidden || (!this.#published && !this.#watched)) return;
    const lines = [], ms = (seconds) => `${Math.round(seconds * 1000)} ms`;
    let total = 0, isWhole = true;
    const add = (seconds) => { if (seconds == null) isWhole = false; else total += seconds; };
    if (this.#published) {
      const all = await this.#published.statistics();
      const pair = all.find((each) => each.type === "candidate-pair" && each.nominated);
      const out = all.find((each) => each.type === "outbound-rtp" && each.kind === "video");
      if (out?.frameWidth) lines.push(`sends ${out.frameWidth}x${out.frameHeight} at ${Math.round(out.framesPerSecond ?? 0)}`);
      add(pair?.currentRoundTripTime == null ? null : pair.currentRoundTripTime / 2);
    }
    const server = this.#serverLatency();
    if (this.#watched) {
      const all = await this.#watched.statistics();
      const pair = all.find((each) => each.type === "candidate-pair" && each.nominated);
      const video = all.find((each) => each.type === "inbound-rtp" && each.kind === "video");
      if (video?.frameWidth) lines.push(`shows ${video.frameWidth}x${video.frameHeight} at ${Math.round(video.framesPerSecond ?? 0)}`);
      add(pair?.currentRoundTripTime == null ? null : pair.currentRoundTripTime / 2);
      const before = this.#watched.last ?? { jitterBufferDelay: 0, jitterBufferEmittedCount: 0 };
      this.#watched.last = video ?? before;
      const frames = (video?.jitterBufferEmittedCount ?? 0) - before.jitterBufferEmittedCount;
      add(frames > 0 ? (video.jitterBufferDelay - before.jitterBufferDelay) / frames : null);
      if (video?.freezeCount) lines.push(`${video.freezeCount} freezes`);
    }
    if (server != null) lines.push(`enhanced within ${ms(server)}`);
    add(server);
    if (this.#published && this.#watched && isWhole) lines.push(`from camera to picture about ${ms(total)}`);
    this.#text(this.#find("call-figures"), lines.join(" · "));
  }
}
