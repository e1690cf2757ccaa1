// What may change while a stream runs. Each control sends its own change and shows what the service answers.

import { contradiction, faultOf } from "/page/checks.js";
import { made, text } from "/page/elements.js";

// The words in parentheses are those of the configuration file. What a setting means is said by the service, below each control.
const fields = [
  { key: "mode", label: "Pictures (mode)", options: { enhance: "enhance", bypass: "bypass: leave them as they came" } },
  {
    key: "tier", label: "Best quality (tier)",
    options: { quality: "quality: ten times neural-m's work", "neural-m": "neural-m: what is usual", "neural-s": "neural-s: less work", base: "base: the least work" },
  },
  { key: "content", label: "Quality is made for (content)", options: { auto: "what comes in", general: "any video", calls: "video calls" } },
  { key: "sharpness", label: "Sharpness", range: [0, 1, 0.025] },
  { key: "brightness", label: "Brightness", range: [-1, 1, 0.05] },
  { key: "contrast", label: "Contrast", range: [0, 2, 0.05] },
  { key: "saturation", label: "Saturation", range: [0, 2, 0.05] },
  { key: "gamma", label: "Gamma", range: [0.5, 2, 0.05] },
  { key: "warmth", label: "Warmth", range: [-1, 1, 0.05] },
  { key: "denoise", label: "Noise removal (denoise)", placeholder: "0" },
  {
    key: "deinterlace", label: "Interlaced pictures (deinterlace)",
    options: { auto: "auto: one frame of each", fields: "fields: two frames of each", off: "off: leave them" },
  },
  { key: "interpolate", label: "Frames out for each frame in", options: { 1: "1", 2: "2: smoother motion" } },
  { key: "budget", label: "Latency budget", range: [10, 300, 5], unit: "ms" },
  { key: "caution", label: "Reserve (caution)", range: [1, 10, 0.5], unit: "x", isBare: true },
  { key: "pacing", label: "Sending (pacing)", options: { eager: "eager: each frame at once", paced: "paced: evenly" } },
  { key: "bitrate", label: "Bit rate", placeholder: "4M", none: "auto" },
  { key: "bits", label: "Bits allowed (bits)", placeholder: "2x", none: "auto" },
  { key: "bitrate-floor", label: "Lowest bit rate for poor links", placeholder: "1M", none: "off" },
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
      if (setting.change !== "live") continue;
      // What has no control of its own is a text.
      if (!this.#fields.has(setting.name)) {
        this.#add({ key: setting.name, label: setting.name, placeholder: setting.default, none: setting.default }, this.#change);
      }
      text(this.#fields.get(setting.name).why, meaning(setting));
    }
  }

  #add(field, change) {
    const value = made("b");
    const fault = made("span", { class: "fault", role: "alert" });
    const input = control(field);
    input.name = field.key;
    const why = made("small", { id: `why-${field.key}` });
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
    text(why, [meaning(this.#known.get(key)), refusals.find(Boolean)].filter(Boolean).join(" "));
  }
}

// What the service says of a setting; nothing before it has.
function meaning(setting) { return setting?.help.replaceAll("`", "") ?? ""; }

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
