// Calls by WebRTC: WHIP and WHEP of this service.

import { api, send } from "/page/api.js";

const tellingInterval = 5000;
// The service's end is ICE-lite with addresses of its own: the peer's own candidates are all that is needed.
const gatheringLimit = 1000;

export const after = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// One call: an offer that is answered, and a resource that ends it.
export class Call {
  // - headers: of each of its requests.
  constructor(path, headers = {}) {
    this.path = path;
    this.headers = headers;
    this.peer = new RTCPeerConnection();
    this.nextTelling = 0;
  }

  // - takesOver: from a publisher who is still heard.
  async connect(takesOver = false) {
    const { peer } = this;
    await peer.setLocalDescription(await peer.createOffer());
    const end = performance.now() + gatheringLimit;
    while (peer.iceGatheringState !== "complete" && performance.now() < end) await after(20);
    const response = await send(this.path + (takesOver ? "?takeover=true" : ""), {
      method: "POST", headers: { ...this.headers, "Content-Type": "application/sdp" }, body: peer.localDescription.sdp,
    });
    this.resource = new URL(response.headers.get("Location"), location.origin + this.path).pathname;
    const sdp = await response.text();
    // The user may have ended it meanwhile.
    if (peer.signalingState === "closed") return this.hangUp();
    await peer.setRemoteDescription({ type: "answer", sdp });
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
