// The form that adds a stream, or changes one. What restarts the stream is marked, and asked for again.

import { api } from "/page/api.js";
import { ask } from "/page/asking.js";
import { contradiction, faultOf } from "/page/checks.js";
import { find, made, text } from "/page/elements.js";

// What fills in an address. HOST is left to the user.
const inputs = {
  "SRT: senders call this service": (name, port) => `srt://:${port}?mode=listener`,
  "SRT: programs on the service's machine call it": (name, port) => `srt://127.0.0.1:${port}?mode=listener`,
  "SRT: the service fetches it from a server": () => "srt://HOST:PORT?mode=caller",
  "WebRTC: a browser, OBS or FFmpeg publishes": (name) => `whip:${name || "NAME"}`,
  "MPEG-TS over UDP": (name, port) => `udp://:${port}`,
  "MPEG-TS over RTP": (name, port) => `rtp://:${port}`,
};
const outputs = {
  "SRT: players call this service": (name, port) => `srt://:${port}?mode=listener`,
  "SRT: programs on the service's machine call it": (name, port) => `srt://127.0.0.1:${port}?mode=listener`,
  "SRT: the service sends it to a server": () => "srt://HOST:PORT?mode=caller",
  "WebRTC: browsers watch": (name) => `whep:${name || "NAME"}`,
  "MPEG-TS over UDP": () => "udp://HOST:PORT",
};
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export class Editor {
  #form = find("editing-form");
  #settings = [];
  #streams = [];
  // The stream that is changed; nothing where one is added.
  #stream;
  #isSending = false;
  // The name that stands in addresses of calls.
  #named = "NAME";

  // - done: called with the name of the stream and what to say of it.
  constructor(done) {
    this.done = done;
    for (const [key, kinds] of [["input", inputs], ["outputs", outputs]]) {
      const select = find(`editing-${key}-kind`);
      for (const kind of Object.keys(kinds)) select.add(new Option(kind, kind));
      select.addEventListener("change", () => this.#fill(key, kinds[select.value]));
    }
    this.#form.elements.name.addEventListener("input", ({ target }) => this.#rename(target.value));
    find("editing-cancel").addEventListener("click", () => find("editing").close());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send().catch((error) => this.#fault(error.key, error.message)).finally(() => this.#busy(false));
    });
  }

  // - settings: those that the service lists.
  know(settings) {
    this.#settings = settings;
    find("editing-settings").replaceChildren(...settings.map(field));
  }

  set streams(streams) { this.#streams = streams; }

  // Opens the form, for a new stream where none is given.
  open(stream) {
    this.#stream = stream;
    this.#form.reset();
    this.#clear();
    this.#form.classList.toggle("changing", !!stream);
    text(find("editing-title"), stream ? `Change ${stream.name}` : "Add a stream");
    text(find("editing-send"), stream ? "Change" : "Add");
    text(find("editing-lead"), lead(stream));
    const fields = this.#form.elements;
    fields.name.closest(".field").hidden = !!stream;
    fields.name.disabled = !!stream;
    this.#named = "NAME";
    if (stream) {
      fields.input.value = stream.input;
      fields.outputs.value = stream.outputs.join("\n");
    }
    for (const { name, default: fallback } of this.#settings) fields[name].value = stream?.settings[name] ?? fallback;
    find("editing").showModal();
  }

  #fill(key, address) {
    if (!address) return;
    const fields = this.#form.elements;
    const url = address(fields.name.value || this.#stream?.name, this.#freePort());
    const before = fields[key].value.trim();
    fields[key].value = key === "outputs" && before ? `${before}\n${url}` : url;
    find(`editing-${key}-kind`).selectedIndex = 0;
    fields[key].focus();
  }

  // Calls' addresses that were filled in follow the name.
  #rename(name) {
    for (const key of ["input", "outputs"]) {
      const field = this.#form.elements[key];
      field.value = field.value.split("\n")
        .map((line) => line === `whip:${this.#named}` || line === `whep:${this.#named}` ? line.slice(0, 5) + (name || "NAME") : line).join("\n");
    }
    this.#named = name || "NAME";
  }

  // The first port from 9000 on that no stream and no line of this form names.
  #freePort() {
    const urls = this.#streams.flatMap((each) => [each.input, ...each.outputs]);
    urls.push(this.#form.elements.input.value, this.#form.elements.outputs.value);
    const taken = new Set(urls.flatMap((url) => [...url.matchAll(/:(\d+)/g)].map(([, port]) => Number(port))));
    let port = 9000;
    while (taken.has(port)) port += 1;
    return port;
  }

  #clear() {
    text(find("editing-fault"), "");
    for (const element of this.#form.elements) element.removeAttribute("aria-invalid");
  }

  #fault(key, message) {
    const element = this.#form.elements[key === "output" ? "outputs" : key];
    const name = element?.closest?.(".field")?.querySelector("b")?.textContent ?? key;
    text(find("editing-fault"), name ? `${name}: ${message}` : message);
    if (!element?.setAttribute) return;
    element.closest("details")?.setAttribute("open", "");
    element.setAttribute("aria-invalid", "true");
    element.focus();
  }

  // A form that is sent twice is sent once.
  #busy(isSending) {
    this.#isSending = isSending;
    find("editing-send").disabled = isSending;
  }

  async #send() {
    if (this.#isSending) return;
    this.#busy(true);
    this.#clear();
    const { places, settings, all } = this.#entered();
    const fault = this.#check(places, settings, all);
    if (fault) return this.#fault(...fault);
    if (!this.#stream) {
      const stream = await api.add({ name: this.#form.elements.name.value, ...places, settings });
      return this.#end(stream, "is added");
    }
    const restarting = [...Object.keys(places),
      ...this.#settings.filter((each) => each.change === "restart" && each.name in settings).map((each) => each.name)];
    if (restarting.length === 0 && Object.keys(settings).length === 0) return find("editing").close();
    if (restarting.length && !await ask(`Restart ${this.#stream.name}?`,
      `${restarting.join(", ")}: a change restarts the stream. Its viewers lose the picture for a moment, senders have to connect again.`,
      "Change and restart")) return;
    const stream = await api.change(this.#stream.name, { ...places, settings }, restarting.length > 0);
    this.#end(stream, restarting.length ? "is changed and starts again" : "is changed");
  }

  #end(stream, what) {
    find("editing").close();
    const lasts = stream.fromFile ? "This lasts until the service reads its configuration file again."
      : stream.kept ? `It is kept in ${stream.kept} when the service restarts.`
        : stream.kept === null ? "It lasts until the service restarts." : "";
    this.done(stream.name, `${stream.name} ${what}. ${lasts}`);
  }

  // What differs from what is.
  #entered() {
    const fields = this.#form.elements;
    const places = {}, settings = {}, all = {};
    const lines = fields.outputs.value.split("\n").map((line) => line.trim()).filter(Boolean);
    const input = fields.input.value.trim();
    if (input !== this.#stream?.input) places.input = input;
    if (lines.join("\n") !== this.#stream?.outputs.join("\n")) places.outputs = lines;
    for (const key of ["input-passphrase", "output-passphrase"]) if (fields[key].value) places[key] = fields[key].value;
    for (const { name, default: fallback } of this.#settings) {
      const value = fields[name].value.trim() || fallback;
      all[name] = value;
      if (value !== (this.#stream?.settings[name] ?? fallback)) settings[name] = value === fallback ? null : value;
    }
    return { places, settings, all };
  }

  // The first fault: its key and the reason.
  #check(places, settings, all) {
    const name = this.#form.elements.name.value;
    if (!this.#stream && !namePattern.test(name)) {
      return ["name", "1 to 64 letters, digits, dots, _ and -, and one of the first two at the beginning"];
    }
    if (!this.#stream && this.#streams.some((each) => each.name === name)) return ["name", "there is a stream of this name already"];
    if (places.input === "") return ["input", "where does it come from?"];
    if (places.outputs?.length === 0) return ["outputs", "where does it go to?"];
    for (const [key, urls] of [["input", [places.input ?? ""]], ["outputs", places.outputs ?? []]]) {
      const open = urls.find((url) => /\b(HOST|PORT|NAME)\b/.test(url));
      if (open) return [key, `put the real one in the place of ${open.match(/\b(HOST|PORT|NAME)\b/)[0]}`];
      const other = urls.find((url) => url && !/^(srt|rtp|udp):\/\/|^wh[ie]p:|^\//.test(url));
      if (/^rtmps?:/.test(other)) return [key, "RTMP is not known here: choose SRT or WebRTC, which OBS and FFmpeg send, too"];
      if (other) return [key, `begins with srt://, rtp://, udp://, ${key === "input" ? "whip:" : "whep:"} or /, not ${other.slice(0, 40)}`];
    }
    for (const [key, urls] of [["input-passphrase", [places.input ?? this.#stream?.input]],
      ["output-passphrase", places.outputs ?? this.#stream?.outputs]]) {
      if (places[key] === undefined) continue;
      const length = new TextEncoder().encode(places[key]).length;
      if (length < 10 || length > 79) return [key, "10 to 79 characters"];
      if (!urls.some((url) => url.startsWith("srt://"))) return [key, "only SRT has one"];
    }
    for (const setting of this.#settings) {
      const fault = faultOf(setting, all[setting.name]);
      if (fault) return [setting.name, fault];
    }
    return contradiction(all, Object.keys(settings).filter((key) => settings[key] != null));
  }
}

function lead(stream) {
  if (!stream) return "";
  return stream.fromFile ? "This stream stands in the configuration file. Changes made here last until the service reads it again." : "";
}

function field(setting) {
  const input = setting.choices ? made("select", {}, ...setting.choices.map((choice) => new Option(choice, choice)))
    : made("input", { type: "text", placeholder: setting.default, autocomplete: "off", spellcheck: "false" });
  input.name = setting.name;
  const mark = setting.change === "restart" ? [made("em", { class: "restarts" }, "restarts the stream")] : [];
  const help = setting.help.replaceAll("`", "") + (setting.choices ? "" : ` Allowed: ${setting.allowed}.`);
  return made("label", { class: "field" }, made("span", {}, made("b", {}, setting.name), ...mark), input, made("small", {}, help));
}
