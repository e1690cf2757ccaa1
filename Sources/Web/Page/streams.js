// The list of streams.

import { find, made, text } from "/page/elements.js";

const states = {
  starting: "starting", waiting: "waits for its source", flowing: "flowing", backingOff: "starts again soon", stopped: "stopped",
};

export const stateWords = (stream) => states[stream.state] ?? stream.state;

export function showStreams(streams, chosen) {
  find("none").hidden = streams.length > 0;
  const list = find("streams");
  const items = new Map([...list.children].map((item) => [item.dataset.name, item]));
  for (const stream of streams) {
    const item = items.get(stream.name) ?? newItem(stream.name);
    items.delete(stream.name);
    item.className = stream.state;
    const [link] = item.children;
    text(link.children[1], stateWords(stream));
    if (stream.name === chosen) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    if (item.parentNode !== list) list.append(item);
  }
  for (const item of items.values()) item.remove();
}

function newItem(name) {
  const dot = made("span", { class: "dot", "aria-hidden": "true" });
  const item = made("li", {}, made("a", { href: `#${encodeURIComponent(name)}` }, made("strong", {}, dot, name), made("span")));
  item.dataset.name = name;
  return item;
}

// How long a stream lasts, in words.
function lasting(stream) {
  if (stream.fromFile) return "from the configuration file";
  return stream.kept ? "kept when the service restarts" : "until the service restarts";
}

export function showTitle(stream) {
  find("stream").hidden = false;
  text(find("name"), stream.name);
  text(find("state"), stateWords(stream));
  find("state").className = `state figure ${stream.state}`;
  text(find("reason"), stream.reason || "");
  const restarts = stream.restarts ? `${stream.restarts} restart${stream.restarts > 1 ? "s" : ""}` : "";
  text(find("lasting"), [lasting(stream), restarts].filter(Boolean).join(" · "));
}
