// The picture before and after. Each is asked for only while this part of the page is on the screen, wanted, and the one before
// has come; so a page that nobody sees costs the stream nothing.

import { api } from "/page/api.js";

const interval = 1000;

export class Pictures {
  isWanted = true;
  isFlowing = false;
  #stream = "";
  #isOnScreen = false;
  #sides;
  #message;

  constructor(before, after, divider, line, message) {
    this.#sides = { before, after };
    this.#message = message;
    const divide = () => {
      const share = divider.value / 10;
      before.style.clipPath = `inset(0 ${100 - share}% 0 0)`;
      line.style.left = `${share}%`;
      divider.setAttribute("aria-valuetext", `${Math.round(share)} % before`);
    };
    divider.addEventListener("input", divide);
    divide();
    new IntersectionObserver(([entry]) => { this.#isOnScreen = entry.isIntersecting; }).observe(after.parentNode);
  }

  // Shows another stream; the pictures of the one before go.
  follow(stream) {
    this.#stream = stream;
    for (const side of Object.values(this.#sides)) this.#show(side, null);
    this.#message.hidden = false;
  }

  async run() {
    for (;;) {
      if (this.isWanted && this.isFlowing && this.#isOnScreen && !document.hidden) await this.#renew();
      await new Promise((done) => setTimeout(done, interval));
    }
  }

  async #renew() {
    const stream = this.#stream;
    const box = this.#sides.after.parentNode;
    const width = Math.min(1920, Math.ceil(box.clientWidth * devicePixelRatio / 64) * 64);
    try {
      // Together, so that both are of one frame.
      const [before, after] = await Promise.all([api.picture(stream, "before", width), api.picture(stream, "after", width)]);
      if (stream !== this.#stream) return;
      this.#show(this.#sides.before, before);
      this.#show(this.#sides.after, after);
      this.#message.hidden = true;
    } catch (error) {
      if (!this.#sides.after.hasAttribute("src")) {
        this.#message.hidden = false;
        this.#message.textContent = error.message;
      }
    }
  }

  #show(image, blob) {
    const old = image.getAttribute("src");
    if (blob) image.src = URL.createObjectURL(blob); else image.removeAttribute("src");
    if (old) URL.revokeObjectURL(old);
  }
}
