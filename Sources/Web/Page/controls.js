// What may change while a stream runs. Each control sends its own change and shows what the service answers.

const fields = [
  { key: "mode", label: "Pictures", options: ["enhance", "bypass"] },
  { key: "tier", label: "Best tier", options: ["neural-m", "neural-s", "base"] },
  { key: "content", label: "Networks trained for", options: ["general", "calls"] },
  { key: "sharpness", label: "Sharpness", range: [0, 1, 0.025] },
  { key: "denoise", label: "Noise to take away (0 to 1, or auto)", text: "0" },
  { key: "deinterlace", label: "Interlaced pictures", options: ["auto", "fields", "off"] },
  { key: "interpolate", label: "Frames out for each frame in", options: ["1", "2"] },
  { key: "budget", label: "Latency budget", range: [10, 300, 5], unit: "ms" },
  { key: "caution", label: "Caution", range: [1, 10, 0.5] },
  { key: "pacing", label: "Pacing", options: ["eager", "paced"] },
  { key: "bitrate", label: "Bit rate (empty: from size and rate)", text: "4M", none: "auto" },
  { key: "bitrate-floor", label: "Follow the outputs' links down to (empty: not)", text: "1M", none: "off" },
];

export class Controls {
  #fields = new Map();
  #stream;

  constructor(form, change) {
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const field of fields) {
      const label = document.createElement("label");
      const title = document.createElement("span");
      const value = document.createElement("b");
      const fault = document.createElement("span");
      fault.className = "fault";
      fault.setAttribute("role", "alert");
      title.append(field.label, value);
      const input = this.#input(field);
      input.name = field.key;
      label.append(title, input, fault);
      form.append(label);
      const shown = () => { value.textContent = field.range ? `${input.value}${field.unit ? ` ${field.unit}` : ""}` : ""; };
      input.addEventListener("input", shown);
      input.addEventListener("change", async () => {
        fault.textContent = "";
        const text = input.value.trim();
        try {
          await change({ [field.key]: text === "" ? null : text + (field.unit ?? "") });
        } catch (error) {
          fault.textContent = error.message;
        }
      });
      this.#fields.set(field.key, { field, input, shown });
    }
  }

  // Shows the settings of a stream, except in the control that somebody is using.
  show(settings, stream) {
    const isOther = stream !== this.#stream;
    this.#stream = stream;
    for (const [key, { field, input, shown }] of this.#fields) {
      if (!isOther && input === document.activeElement) continue;
      const text = field.none != null && settings[key] === field.none ? "" : settings[key] ?? "";
      input.value = field.unit && text ? parseFloat(text) * (text.endsWith("ms") ? 1 : 1000) : text;
      shown();
    }
  }

  #input(field) {
    if (field.options) {
      const select = document.createElement("select");
      for (const option of field.options) select.add(new Option(option, option));
      return select;
    }
    const input = document.createElement("input");
    input.type = field.range ? "range" : "text";
    if (field.range) [input.min, input.max, input.step] = field.range;
    if (field.text) input.placeholder = field.text;
    return input;
  }
}
