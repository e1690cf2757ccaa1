// Calls by WebRTC: WHIP and WHEP of this service.

import { api, send } from "/page/api.js";

const tellingInterval = 5000;
// The service's end is ICE-lite with addresses of its own: the peer's own candidates are all that is needed.
const gatheringLimit = 1000;
// Where no direct way is found for so long, the service's TURN servers are tried.
const relayDelay = 3000;
// So many restarts may fail in a row.
const mostRestarts = 3;

export const after = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// The ICE servers that an answer names (RFC 9725, 4.6).
function iceServers(links) {
  return [...(links ?? "").matchAll(/<([^>]+)>;\s*rel="ice-server"([^<]*)/g)].map(([, urls, rest]) => {
    const [username, credential] = ["username", "credential"].map((name) => rest.match(`${name}="([^"]*)"`)?.[1]);
    return { urls, username, credential };
  });
}

// Browsers send and play Opus in mono where neither description speaks of stereo (RFC 7587, 6.1).
const inStereo = (sdp) => sdp.replace(/^a=fmtp:\d+ (?!.*stereo=).*useinbandfec=1.*$/gm, "$&;stereo=1");

// One call: an offer that is answered, and a resource that ends it.
export class Call {
  // - headers: of each of its requests.
  // - layer: what a viewer wants (``choose``).
  constructor(path, headers = {}, layer = "auto") {
    this.path = path;
    this.headers = headers;
    this.layer = layer;
    this.peer = new RTCPeerConnection();
    this.nextTelling = 0;
    this.restarts = 0;
  }

  // - takesOver: from a publisher who is still heard.
  async connect(takesOver = false) {
    const { peer, layer } = this;
    const query = takesOver ? "?takeover=true" : layer === "auto" ? "" : `?layer=${layer}`;
    const response = await send(this.path + query, {
      method: "POST", headers: { ...this.headers, "Content-Type": "application/sdp" }, body: await this.#offer(),
    });
    this.resource = new URL(response.headers.get("Location"), location.origin + this.path).pathname;
    this.answer = await response.text();
    // The user may have ended it meanwhile.
    if (peer.signalingState === "closed") return this.hangUp();
    const servers = iceServers(response.headers.get("Link"));
    peer.setConfiguration({ ...peer.getConfiguration(), iceServers: servers });
    await peer.setRemoteDescription({ type: "answer", sdp: this.answer });
    if (servers.some(({ urls }) => urls.startsWith("turn"))) this.#relay();
    if (this.layer !== layer) await this.choose(this.layer);
  }

  // The layer of a viewer from now on: `enhanced`, `sent`, or `auto` for the one that their link carries. A call that is about to begin
  // gets it then. Its pictures and sound go on.
  async choose(layer) {
    this.layer = layer;
    if (this.resource) await api.chooseLayer(this.resource, layer, this.headers);
  }

  async #offer() {
    const { peer } = this;
    const { type, sdp } = await peer.createOffer();
    const hasStereo = peer.getTransceivers().some(({ direction, sender: { track } }) =>
      direction === "recvonly" || track?.kind === "audio" && track.getSettings().channelCount > 1);
    await peer.setLocalDescription({ type, sdp: hasStereo ? inStereo(sdp) : sdp });
    const end = performance.now() + gatheringLimit;
    while (peer.iceGatheringState !== "complete" && performance.now() < end) await after(20);
    return peer.localDescription.sdp;
  }

  // Candidates by the ICE servers are gathered by a restart: the offer came before they were known.
  async #relay() {
    await after(relayDelay);
    if (["new", "connecting"].includes(this.peer.connectionState)) await this.#restart().catch(() => {});
  }

  // Follows the network from now on: goes on by another one where it can, and calls `lost` once where it cannot.
  watchOver(lost) {
    const { peer } = this;
    this.network = new AbortController();
    const { signal } = this.network;
    const end = () => {
      if (signal.aborted) return;
      this.network.abort();
      lost();
    };
    const restart = () => {
      // Without a network there is no answer either. Its failure comes as the state.
      this.#restart().catch((error) => { if (error.status === 404 || peer.connectionState === "failed") end(); });
    };
    peer.addEventListener("connectionstatechange", () => {
      if (peer.connectionState === "connected") this.restarts = 0;
      if (["disconnected", "failed"].includes(peer.connectionState)) restart();
      if (peer.connectionState === "closed") end();
    }, { signal });
    addEventListener("online", restart, { signal });
    navigator.connection?.addEventListener("change", restart, { signal });
  }

  // Begins the ICE session anew (RFC 9725, 4.3.3). Throws when the service does not answer, or the call is over.
  async #restart() {
    const { peer } = this;
    if (this.isRestarting || !this.answer) return;
    this.isRestarting = true;
    try {
      if (++this.restarts > mostRestarts) throw new Error("The connection to the service was lost.");
      peer.restartIce();
      const lines = (await this.#offer()).split("\r\n");
      // The first section carries the transport of all.
      const [, first] = lines.join("\n").split(/^(?=m=)/m);
      const fragment = first.split("\n").filter((line) => /^(m=|a=(mid|ice-ufrag|ice-pwd|candidate):)/.test(line));
      const response = await send(this.resource, {
        method: "PATCH",
        headers: { ...this.headers, "Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*" },
        body: [...fragment, "a=end-of-candidates", ""].join("\r\n"),
      });
      const names = await response.text();
      for (const name of ["ice-ufrag", "ice-pwd"]) {
        const line = new RegExp(`^a=${name}:.*`, "gm");
        this.answer = this.answer.replace(line, names.match(line)[0]);
      }
      if (peer.signalingState !== "closed") await peer.setRemoteDescription({ type: "answer", sdp: this.answer });
    } finally {
      this.isRestarting = false;
    }
  }

  // Tells the service how often the picture has stood still: receivers of WebRTC do not report that. Only what is new, at most
  // every five seconds, and not again after it was refused. Some browsers do not count.
  tell(freezes) {
    const now = performance.now();
    if (freezes == null || freezes === this.told || !this.resource || now < this.nextTelling) return;
    this.nextTelling = now + tellingInterval;
    api.tellFreezes(this.resource, freezes, this.headers).then(() => { this.told = freezes; }, (error) => {
      if (!error.isSilence) this.nextTelling = Infinity;
    });
  }

  hangUp() {
    const { peer, resource, headers } = this;
    this.resource = undefined;
    this.network?.abort();
    if (!resource) return peer.close();
    // The connection's own goodbye would overtake the request, which would then end a call that is over.
    fetch(resource, { method: "DELETE", credentials: "same-origin", keepalive: true, headers }).catch(() => {})
      .finally(() => peer.close());
  }
}

// Why this browser gives no camera to this page; undefined where it does.
export function refusal() {
  if (typeof RTCPeerConnection === "undefined") return "This browser has no WebRTC.";
  if (!isSecureContext) {
    return "Browsers give camera, screen and microphone only to pages that come by HTTPS, or from localhost. "
      + "This page came by plain HTTP: open it by HTTPS, or on the service's own machine.";
  }
  if (!navigator.mediaDevices) return "This browser gives this page neither camera nor screen.";
  return undefined;
}

export function reason(error) {
  const reasons = {
    NotAllowedError: "The browser was not allowed to use it: allow camera, screen or microphone for this page.",
    NotFoundError: "There is no such device on this computer.",
    NotReadableError: "Another program uses the device.",
  };
  return reasons[error.name] ?? error.message;
}
