// What the service would refuse of settings, so that the page does not send it. The service checks all of it again.

const number = "\\d+(?:\\.\\d+)?";
const forms = {
  budget: `${number}(ms|us|s|m|h)`, hold: `${number}(ms|us|s|m|h)`, bitrate: `${number}[kMG]`, bits: `${number}x`, "bitrate-floor": `${number}[kMG]`,
  fps: `${number}|\\d+/\\d+`, size: "\\d+x\\d+", "max-size": "\\d+x\\d+",
};

// Why a text is no value of a setting; nothing where it is. - setting: one of those that the service lists.
export function faultOf(setting, text) {
  if (!setting || text === "" || text === setting.default) return undefined;
  const value = Number(text);
  const isGood = setting.choices ? setting.choices.includes(text)
    : setting.least != null ? text.trim() !== "" && value >= setting.least && value <= setting.most
      || / or auto$/.test(setting.allowed) && text === "auto"
      : !forms[setting.name] || new RegExp(`^(?:${forms[setting.name]})$`).test(text);
  return isGood ? undefined : `is ${setting.allowed}`;
}

const bits = (text) => parseFloat(text) * ({ k: 1e3, M: 1e6, G: 1e9 }[text?.at(-1)] ?? NaN);

// Why settings do not go together: the key that is meant, and the reason. Nothing where they do.
// - all: the settings as they would be. - given: the names of those that are given on purpose.
export function contradiction(all, given = []) {
  const hasRate = all.fps != null && all.fps !== "input";
  const hasSize = all.size != null && all.size !== "scale";
  if (hasRate && (all.interpolate === "2" || given.includes("interpolate"))) {
    return ["interpolate", "Not with fps, which sets the output's rate."];
  }
  if (!hasRate && all["keep-output"] !== "true" && given.includes("hold")) return ["hold", "Goes with fps or keep-output."];
  if (all["keep-size"] === "true" && all.mode === "bypass") {
    return ["mode", "No bypass with keep-size: a bypassed stream has the input's size."];
  }
  if (hasSize && given.includes("scale")) return ["scale", "The size is given: it takes the place of scale."];
  if (all["keep-size"] === "true" && all.scale === "fit") return ["keep-size", "Not with scale fit, which chooses the size."];
  if (bits(all["bitrate-floor"]) > bits(all.bitrate)) return ["bitrate-floor", "At most the bit rate."];
  if (all.lookahead === "0" && given.includes("lookahead") && !hasRate && all.interpolate !== "2") {
    return ["lookahead", "0 goes with interpolate 2 or fps."];
  }
  return undefined;
}
