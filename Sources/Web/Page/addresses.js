// Where to send, and where to watch: full addresses to copy, and what FFmpeg and OBS need.

import { copyable } from "/page/copying.js";
import { find, made, text } from "/page/elements.js";
import { session } from "/page/signing.js";

const protocols = { srt: "SRT", whip: "WebRTC (WHIP)", whep: "WebRTC (WHEP)", rtp: "RTP", udp: "UDP" };
const secrets = {
  passphrase: "Put the stream's passphrase in the place of PASSPHRASE: this page does not know it.",
  streamid: "Put the name that callers ask for in the place of STREAMID: it stands in the configuration (callers).",
  token: "Needs the token of the stream or the service, as a bearer token or where TOKEN stands. This page does not show it.",
};

export class Addresses {
  #shown;
  #state;

  // Shows the addresses of a stream. The section opens by itself where the stream waits. It stays open when the source has come,
  // since where to watch is looked up then.
  show(stream) {
    const waits = stream.state === "waiting" || stream.state === "starting";
    if (this.#state !== `${stream.name} ${waits}`) {
      if (waits || !this.#state?.startsWith(`${stream.name} `)) find("addresses").open = waits;
      this.#state = `${stream.name} ${waits}`;
      text(find("addresses-title"), waits ? "Where to send" : "Addresses: where to send, where to watch");
    }
    // What is copied just now must not go away.
    const all = stream.addresses;
    const shown = JSON.stringify([stream.name, all, session.pageAddress]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    find("addresses-list").replaceChildren(
      ...part("Send to", all.filter((each) => each.side === "input")),
      ...part("Watch at", all.filter((each) => each.side === "output")), ...local(all), ...code(stream.name, all));
  }
}

function part(title, addresses) {
  return addresses.length ? [made("h4", {}, title), ...addresses.map(entry)] : [];
}

function entry(address) {
  const name = protocols[address.protocol] ?? address.protocol;
  const item = made("div", { class: "address" }, copyable(address.url, does(address, name), `the ${name} address`));
  for (const secret of address.secrets ?? []) item.append(made("p", { class: "note" }, secrets[secret] ?? `Needs a ${secret}.`));
  if (address.ffmpeg) item.append(copyable(
    address.ffmpeg, isCall(address) ? "with FFmpeg 8 or newer" : "with FFmpeg", "the command for FFmpeg"));
  if (address.obs) item.append(copyable(address.obs, "with OBS", "the settings for OBS"));
  return item;
}

// What to do where other machines cannot reach an address.
function local(addresses) {
  const urls = addresses.filter((each) => each.loopback);
  if (!urls.length) return [];
  const ways = [
    urls.every(isCall) ? "" : "change the stream to an address without 127.0.0.1, as srt://:9000?mode=listener",
    urls.some(isCall) ? "for WebRTC, let the service listen on an address of the network (http.address in its configuration)" : "",
  ].filter(Boolean);
  return [made("p", { class: "note" }, "127.0.0.1 and localhost are this machine's own (loopback): other machines cannot reach them. "
    + `To let them in, ${ways.join("; ")}.`)];
}

const isCall = ({ protocol }) => protocol === "whip" || protocol === "whep";

const ways = {
  input: {
    listener: "senders call this address", caller: "the service calls the sender, which listens like this",
    receiver: "senders send to this address", rendezvous: "both sides call each other", call: "publish to this address",
  },
  output: {
    listener: "players call this address", caller: "the service calls the receiver, which listens like this",
    sender: "receivers listen like this", rendezvous: "both sides call each other", call: "players ask this address",
  },
};

function does({ side, mode, loopback }, name) {
  const way = ways[side]?.[mode];
  return (way ? `${name}: ${way}` : name) + (loopback ? ", on the service's own machine only" : "");
}

// A phone opens this page by a picture of its address, where it has one by HTTPS: browsers give a page no camera otherwise.
function code(name, addresses) {
  if (!session.pageAddress || !addresses.some((each) => each.protocol === "whip")) return [];
  const url = `${session.pageAddress}#${encodeURIComponent(name)}`;
  return [made("figure", {},
    made("img", {
      class: "code", width: 160, height: 160, loading: "lazy", src: `/api/v1/qr?stream=${encodeURIComponent(name)}`, alt: `QR code of ${url}`,
    }),
    made("figcaption", {}, "Publish from a phone: its camera opens this page by HTTPS, as ", made("code", {}, url)))];
}
