// What may change while a stream runs. Each control sends its own change and shows what the service answers.

import { contradiction, faultOf } from "/page/checks.js";
import { made, text } from "/page/elements.js";

// The words in parentheses are those of the configuration file.
const fields = [
  { key: "mode", label: "Pictures (mode)", options: { enhance: "enhance", bypass: "bypass: leave them as they came" } },
  {
    key: "tier", label: "Best quality (tier)", why: "The service takes a lower one by itself when time is short.",
    options: { "neural-m": "neural-m: the best", "neural-s": "neural-s: less work", base: "base: the least work" },
  },
  { key: "content", label: "Quality is made for (content)", options: { general: "any video", calls: "video calls" } },
  { key: "sharpness", label: "Sharpness", range: [0, 1, 0.025] },
  { key: "denoise", label: "Noise removal (denoise)", placeholder: "0", why: "0 is none, 1 is the most; auto finds it out." },
  {
    key: "deinterlace", label: "Interlaced pictures (deinterlace)",
    options: { auto: "auto: one frame of each", fields: "fields: two frames of each", off: "off: leave them" },
  },
  { key: "interpolate", label: "Frames out for each frame in", options: { 1: "1", 2: "2: smoother motion" } },
  { key: "budget", label: "Latency budget", range: [10, 300, 5], unit: "ms", why: "How much time enhancing may take." },
  {
    key: "caution", label: "Reserve (caution)", range: [1, 10, 0.5], unit: "x", isBare: true,
    why: "So many times slower may the machine suddenly become without a late frame.",
  },
  {
    key: "pacing", label: "Sending (pacing)", options: { eager: "eager: each frame at once", paced: "paced: evenly" },
    why: "Evenly is for receivers without a latency window, as plain UDP players.",
  },
  { key: "bitrate", label: "Bit rate", placeholder: "4M", none: "auto", why: "Empty: it follows from size, rate and bits." },
  {
    key: "bits", label: "Bits allowed (bits)", placeholder: "2x", none: "auto",
    why: "So many times the input's bits. Empty: 2x, unless a bit rate is given.",
  },
  {
    key: "bitrate-floor", label: "Lowest bit rate for poor links", placeholder: "1M", none: "off",
    why: "The bit rate goes down to this when a link cannot take more. Empty: it stays.",
  },
];

export class Controls {
  #form;
  #fields = new Map();
  #known = new Map();
  #stream;
  #settings = {};
  #change;

  // - change: sends changes. - known: the settings that the service lists.
  constructor(form, change) {
    this.#form = form;
    this.#change = change;
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const field of fields) this.#add(field, change);
  }

  // - settings: those that the service lists.
  know(settings) {
    for (const setting of settings) {
      this.#known.set(setting.name, setting);
      // What has no control of its own is a text.
      if (setting.change !== "live" || this.#fields.has(setting.name)) continue;
      this.#add({ key: setting.name, label: setting.name, placeholder: setting.default, none: setting.default, why: setting.help },
        this.#change);
    }
  }

  #add(field, change) {
    const value = made("b");
    const fault = made("span", { class: "fault", role: "alert" });
    const input = control(field);
    input.name = field.key;
    const why = made("small", { id: `why-${field.key}` }, field.why ?? "");
    input.setAttribute("aria-describedby", why.id);
    this.#form.append(made("label", {}, made("span", {}, field.label, value), input, why, fault));
    const shown = () => { text(value, field.range ? `${input.value} ${field.unit ?? ""}` : ""); };
    input.addEventListener("input", shown);
    input.addEventListener("change", async () => {
      const typed = input.value.trim();
      const wanted = typed === "" ? field.none ?? null : typed + (field.unit && !field.isBare ? field.unit : "");
      const refusal = this.#refusal(field.key, wanted);
      text(fault, refusal ?? "");
      input.setAttribute("aria-invalid", String(!!refusal));
      if (refusal) return;
      try {
        await change({ [field.key]: typed === "" ? null : wanted });
      } catch (error) {
        text(fault, error.message);
      }
    });
    this.#fields.set(field.key, { field, input, shown, why, fault });
  }

  // Why the service would refuse a value now.
  #refusal(key, wanted) {
    const known = this.#known.get(key);
    const fault = wanted == null ? undefined : faultOf(known, wanted);
    if (fault) return `This ${fault}.`;
    return contradiction({ ...this.#settings, [key]: wanted ?? known?.default }, [key])?.[1];
  }

  // Shows the settings of a stream, except in the control that somebody is using.
  show(settings, stream, isAllowed) {
    const isOther = stream !== this.#stream;
    this.#stream = stream;
    this.#settings = settings;
    for (const [key, { field, input, shown, why, fault }] of this.#fields) {
      if (isOther) text(fault, "");
      this.#limit(key, input, why, field, isAllowed);
      if (!isOther && input === document.activeElement) continue;
      const value = field.none != null && settings[key] === field.none ? "" : settings[key] ?? "";
      input.value = field.unit === "ms" && value ? parseFloat(value) * (value.endsWith("ms") ? 1 : 1000) : value;
      shown();
    }
  }

  // What the service would refuse cannot be chosen, and says why.
  #limit(key, input, why, field, isAllowed) {
    const refusals = Object.keys(field.options ?? {}).map((option) => option === this.#settings[key] ? undefined : this.#refusal(key, option));
    refusals.forEach((refusal, index) => { input.options[index].disabled = !!refusal; });
    input.disabled = !isAllowed;
    text(why, [field.why, refusals.find(Boolean)].filter(Boolean).join(" "));
  }
}

function control(field) {
  if (field.options) {
    const select = document.createElement("select");
    for (const [value, words] of Object.entries(field.options)) select.add(new Option(words, value));
    return select;
  }
  const input = document.createElement("input");
  input.type = field.range ? "range" : "text";
  if (field.range) [input.min, input.max, input.step] = field.range;
  if (field.placeholder) input.placeholder = field.placeholder;
  return input;
}
