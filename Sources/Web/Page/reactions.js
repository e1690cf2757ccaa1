// Buttons that let reactions fly over the pictures, where the stream allows it.

import { made, text } from "/page/elements.js";

const kinds = {
  "thumbs-up": "\u{1F44D}", "thumbs-down": "\u{1F44E}", heart: "\u2764\uFE0F", balloons: "\u{1F388}", rain: "\u{1F327}\uFE0F",
  confetti: "\u{1F38A}", fireworks: "\u{1F386}", lasers: "\u{1F526}",
};

export class Reactions {
  #section;

  // - react: sends the kind that somebody chose.
  constructor(section, react) {
    this.#section = section;
    const [buttons, fault] = section.querySelectorAll("p");
    for (const [kind, sign] of Object.entries(kinds)) {
      const button = made("button", { type: "button", title: kind, "aria-label": kind }, sign);
      button.addEventListener("click", async () => {
        text(fault, "");
        try {
          await react(kind);
        } catch (error) {
          text(fault, error.message);
        }
      });
      buttons.append(button);
    }
  }

  show(settings, isAllowed) { this.#section.hidden = !isAllowed || settings?.reactions !== "on"; }
}
