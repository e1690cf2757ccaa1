// Publishes to the chosen stream and watches it, by WebRTC: WHIP and WHEP of this service.

import { Delay, sentence } from "/page/delay.js";
import { find, text } from "/page/elements.js";
import { session, showSignIn } from "/page/signing.js";
import { Call, reason, refusal } from "/page/webrtc.js";

const statisticsInterval = 1000;
// For so long after its end, in ms.
const ownCallShows = 3000;

// Buttons for what a viewer may have in place of what their link carries.
const layers = new Map([["call-as-sent", "sent"], ["call-small", "small"]]);

const soundAlone = "This browser cannot show H.264, the format of the pictures here: it gets sound alone. "
  + "Firefox shows H.264 once it has fetched its OpenH264 plug-in; Chromium, Chrome, Edge and Safari show it.";

export class Calls {
  #published; #watched; #stream; #serverLatency; #whyNot = {}; #needsToken = {};
  // Whether somebody else publishes, and whether the user wants to take over.
  #isTaken = false; #takesOver = false;
  // When the user's own call ended. The service's list shows it for a moment longer.
  #endedAt = -Infinity;

  // - serverLatency: gives the service's median latency, in seconds.
  constructor(serverLatency) {
    this.#serverLatency = serverLatency;
    find("call-camera").addEventListener("click", () => this.#publish("camera"));
    find("call-screen").addEventListener("click", () => this.#publish("screen"));
    find("call-takeover").addEventListener("click", () => { this.#takesOver = true; this.#show(); });
    find("call-stop").addEventListener("click", () => this.#stopPublishing());
    find("call-watch").addEventListener("click", () => this.#watched ? this.#stopWatching() : this.#watch());
    for (const id of layers.keys()) find(id).addEventListener("click", ({ target }) => this.#choose(target));
    find("call-sound").addEventListener("change", ({ target }) => { find("call-after").muted = !target.checked; });
    addEventListener("pagehide", () => this.#end());
    setInterval(() => this.#showFigures().catch(() => {}), statisticsInterval);
  }

  // Follows the chosen stream: its `whip:` input and its first `whep:` output.
  // - callers: the connections that it has.
  follow(stream, callers) {
    const name = (url) => url.slice(5).split("?")[0];
    const input = stream.input.startsWith("whip:") ? `/whip/${name(stream.input)}` : undefined;
    const output = stream.outputs.find((url) => url.startsWith("whep:"));
    const next = {
      name: stream.name, input, output: output && `/whep/${name(output)}`,
      hasSmall: /[?&]small=/.test(output ?? ""),
    };
    if (JSON.stringify(next) !== JSON.stringify(this.#stream)) {
      this.#end();
      this.#stream = next;
      this.#endedAt = -Infinity;
      this.#takesOver = false;
      find("call").hidden = !next.input && !next.output;
      find("call-publishing").hidden = !next.input;
      find("call-watching").hidden = !next.output;
    }
    const why = ["stopped", "backingOff", "starting"].includes(stream.state)
      ? `The stream does not run now${stream.reason ? `: ${stream.reason}` : "."}` : undefined;
    const publisher = callers.find((each) => each.side === "input" && each.protocol === "whip");
    const isOwn = this.#published || performance.now() - this.#endedAt < ownCallShows;
    const taken = isOwn || stream.state !== "flowing" ? undefined
      : `Somebody publishes already${publisher ? `, from ${publisher.address}` : ""}.`;
    this.#isTaken = !!input && !!taken && !refusal() && !why;
    if (!taken) this.#takesOver = false;
    this.#whyNot = {
      publish: input && (refusal() ?? why ?? taken),
      watch: output && (typeof RTCPeerConnection === "undefined" ? "This browser has no WebRTC." : why),
    };
    this.#needsToken = {
      publish: needsToken(stream, "input", session.mayChange), watch: needsToken(stream, "output", session.mayView),
    };
    this.#show();
  }

  // Whether a call may be offered. Where it would be refused for want of a token, asks for it.
  #isAllowed(what) {
    if (this.#needsToken[what]) showSignIn();
    return !this.#needsToken[what];
  }

  #fault(message) { text(find("call-fault"), message ?? ""); }

  #show() {
    const { watch } = this.#whyNot;
    const publish = this.#isTaken && this.#takesOver ? undefined : this.#whyNot.publish;
    find("call-takeover").hidden = !this.#isTaken || this.#takesOver || !!this.#published;
    text(find("call-why"), publish ?? watch ?? "");
    for (const id of ["call-camera", "call-screen", "call-microphone"]) find(id).disabled = !!publish || !!this.#published;
    find("call-stop").hidden = !this.#published;
    find("call-before-frame").hidden = !this.#published;
    find("call-after-frame").hidden = !this.#watched;
    find("call-watch").disabled = !!watch && !this.#watched;
    find("call-as-sent").hidden = !this.#watched;
    find("call-small").hidden = !this.#watched || !this.#stream.hasSmall;
    text(find("call-watch"), this.#watched ? "Stop watching" : "Watch");
    if (!this.#published && !this.#watched) text(find("call-figures"), "");
  }

  async #publish(kind) {
    this.#fault();
    if (!this.#isAllowed("publish")) return;
    const takesOver = this.#isTaken && this.#takesOver;
    this.#takesOver = false;
    const call = this.#published = new Call(this.#stream.input);
    this.#show();
    try {
      const audio = find("call-microphone").checked;
      // 640x360 is what a stream enlarges twice in real time on a small machine. A screen keeps its own size.
      call.media = kind === "camera"
        ? await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 }, height: { ideal: 360 }, frameRate: { ideal: 30 } }, audio })
        : await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { ideal: 30 } }, audio });
      if (this.#published !== call) return this.#release(call);
      find("call-before").srcObject = call.media;
      for (const track of call.media.getTracks()) {
        call.peer.addTransceiver(track, { direction: "sendonly", streams: [call.media] });
        // The user can also end it in the browser's own bar.
        track.addEventListener("ended", () => { if (this.#published === call) this.#stopPublishing(); });
      }
      call.watchOver(() => this.#stopPublishing("The connection to the service was lost."));
      await call.connect(takesOver);
    } catch (error) {
      if (this.#published === call) this.#stopPublishing(error.isSignInNeeded ? "" : reason(error));
    }
  }

  async #watch() {
    this.#fault();
    if (!this.#isAllowed("watch")) return;
    const call = this.#watched = new Call(this.#stream.output, {}, this.#layer);
    this.#show();
    try {
      const media = new MediaStream();
      find("call-after").srcObject = media;
      call.peer.ontrack = ({ track }) => media.addTrack(track);
      for (const kind of ["video", "audio"]) call.peer.addTransceiver(kind, { direction: "recvonly" });
      call.watchOver(() => this.#stopWatching("The connection to the service was lost."));
      await call.connect();
      const [pictures] = call.peer.getTransceivers();
      if (this.#watched === call && !["recvonly", "sendrecv"].includes(pictures?.currentDirection)) this.#fault(soundAlone);
    } catch (error) {
      if (this.#watched === call) this.#stopWatching(error.isSignInNeeded ? "" : reason(error));
    }
  }

  // The layer of the button that is pressed; `auto` where none is.
  get #layer() {
    const id = [...layers.keys()].find((each) => find(each).getAttribute("aria-pressed") === "true");
    return id && (id !== "call-small" || this.#stream.hasSmall) ? layers.get(id) : "auto";
  }

  // The publisher's own pictures, or small ones, or again the enhanced ones as far as the link carries them.
  #choose(control) {
    const isChosen = control.getAttribute("aria-pressed") !== "true";
    for (const id of layers.keys()) find(id).setAttribute("aria-pressed", String(isChosen && id === control.id));
    this.#watched?.choose(this.#layer).catch((error) => this.#fault(error.message));
  }

  #release(call) {
    call.media?.getTracks().forEach((track) => track.stop());
    call.hangUp();
  }

  #stopPublishing(fault) {
    if (this.#published) {
      this.#release(this.#published);
      this.#endedAt = performance.now();
    }
    this.#published = undefined;
    find("call-before").srcObject = null;
    this.#fault(fault);
    this.#show();
  }

  #stopWatching(fault) {
    if (this.#watched) this.#release(this.#watched);
    this.#watched = undefined;
    find("call-after").srcObject = null;
    this.#fault(fault);
    this.#show();
  }

  #end() {
    if (this.#published) this.#stopPublishing();
    if (this.#watched) this.#stopWatching();
  }

  async #showFigures() {
    if (document.hidden || (!this.#published && !this.#watched)) return;
    const lines = [];
    const look = async (call, kind, does) => {
      call.delay ??= new Delay(kind);
      const { parts, video } = call.delay.look([...(await call.peer.getStats()).values()]);
      const rate = Math.round(video?.framesPerSecond ?? 0);
      if (video?.frameWidth) lines.push(`${does} ${video.frameWidth}x${video.frameHeight} at ${rate} a second`);
      if (video?.freezeCount) lines.push(`${video.freezeCount} freezes`);
      if (call === this.#watched) call.tell(video?.freezeCount);
      return parts;
    };
    const sent = this.#published && await look(this.#published, "outbound-rtp", "sends");
    const watched = this.#watched && await look(this.#watched, "inbound-rtp", "shows");
    const service = this.#serverLatency();
    if (sent && watched) lines.push(sentence({ ...sent, service, ...watched }));
    else if (service != null) lines.push(`enhanced within ${Math.round(service * 1000)} ms`);
    text(find("call-figures"), lines.join(" · "));
  }
}

// Whether a call needs a token that this page has not given.
function needsToken(stream, side, isAllowed) {
  const hasOwn = stream.addresses?.some((each) =>
    each.side === side && ["whip", "whep"].includes(each.protocol) && each.secrets?.includes("token"));
  return session.needsToken && !session.isAuthorised && (!!hasOwn || !isAllowed);
}
