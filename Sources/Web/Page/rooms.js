// The list of rooms, with links that let people in.

import { api } from "/page/api.js";
import { copyable } from "/page/copying.js";
import { button, find, made, text } from "/page/elements.js";
import { mayChange } from "/page/signing.js";

export class Rooms {
  constructor(report) { this.report = report; }

  show(rooms) {
    find("rooms-title").hidden = rooms.length === 0;
    const list = find("rooms");
    const items = new Map([...list.children].map((item) => [item.dataset.name, item]));
    for (const room of rooms) {
      const item = items.get(room.name) ?? this.#item(room);
      items.delete(room.name);
      text(item.querySelector("span"), `${room.guests.length} of ${room.seats} are there`);
      if (item.parentNode !== list) list.append(item);
    }
    for (const item of items.values()) item.remove();
  }

  #item({ name, page }) {
    const link = made("a", { href: page }, made("strong", {}, name), made("span"));
    // Whoever comes from here is the host.
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.#makeLink(name, { host: true }, (path) => location.assign(path));
    });
    const invite = button("Invite", () => this.#makeLink(name, {}, (path) => {
      invite.replaceWith(copyable(new URL(path, location.href).href, "For guests, a day long", `the link into ${name}`));
    }), { class: "plain" });
    const item = made("li", {}, link, invite);
    item.dataset.name = name;
    return item;
  }

  #makeLink(name, wish, done) {
    if (mayChange()) api.makeRoomLink(name, wish).then(({ path }) => done(path)).catch(this.report);
  }
}
