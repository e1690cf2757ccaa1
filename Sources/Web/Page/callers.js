// A row for each viewer and each sender, with a button that disconnects it.

import { api } from "/page/api.js";
import { ask } from "/page/asking.js";
import { button, fillRows, find, text } from "/page/elements.js";
import { bitRate, duration, milliseconds, percent, unknown, whole } from "/page/formats.js";
import { mayChange } from "/page/signing.js";

export class Callers {
  #buttons = new Map();
  #stream;

  // - report: shows what went wrong.
  constructor(report) { this.report = report; }

  show(stream, callers) {
    if (stream !== this.#stream) this.#buttons.clear();
    this.#stream = stream;
    const sorted = [...callers].sort((a, b) => (a.side === b.side ? a.id - b.id : a.side === "input" ? -1 : 1));
    text(find("callers-none"), sorted.length ? "" : "Nobody is connected.");
    find("callers-table").hidden = sorted.length === 0;
    fillRows(find("callers-table"), sorted.map((caller) => [
      caller.side === "input" ? "sender" : "viewer", caller.address || unknown, caller.protocol.toUpperCase(),
      duration(caller.secondsConnected), bitRate(caller.bitRate), milliseconds(caller.roundTrip), percent(caller.loss),
      whole(caller.freezes), this.#button(caller),
    ]));
    for (const id of this.#buttons.keys()) if (!sorted.some((caller) => caller.id === id)) this.#buttons.delete(id);
  }

  // One for each caller, so that it keeps the focus.
  #button(caller) {
    const stream = this.#stream;
    if (!this.#buttons.has(caller.id)) {
      this.#buttons.set(caller.id, button("Disconnect", () => this.#kick(stream, caller), {
        class: "plain", "aria-label": `Disconnect ${caller.address}`,
      }));
    }
    return this.#buttons.get(caller.id);
  }

  async #kick(stream, caller) {
    if (!mayChange()) return;
    const consequence = caller.side === "input" ? "The stream loses this sender" : "This viewer sees nothing more";
    if (!await ask(`Disconnect ${caller.address}?`, `${consequence}, and is refused for a minute.`, "Disconnect")) return;
    this.#buttons.get(caller.id)?.setAttribute("disabled", "");
    await api.kick(stream, caller.id).catch(this.report);
  }
}
