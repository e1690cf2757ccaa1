// What happens, the newest first. Begins with the events that the service still keeps.

import { find, made } from "/page/elements.js";

const most = 200;
const retry = 10000;
let source;

export function followEvents() {
  source?.close();
  find("events").replaceChildren();
  const opened = source = new EventSource("/api/v1/events");
  // A browser asks again by itself, unless it was refused: without a session, or by a proxy.
  opened.addEventListener("error", () => {
    if (opened === source && opened.readyState === EventSource.CLOSED) setTimeout(() => {
      if (opened === source) followEvents();
    }, retry);
  });
  opened.addEventListener("message", ({ data }) => {
    const event = JSON.parse(data);
    const time = new Date(event.time * 1000);
    find("events").prepend(made("li", {},
      made("time", { datetime: time.toISOString() }, time.toLocaleTimeString()), made("b", {}, event.stream ?? "service"),
      made("span", {}, event.text)));
    while (find("events").children.length > most) find("events").lastElementChild.remove();
  });
}

export function endEvents() {
  source?.close();
  source = undefined;
}
