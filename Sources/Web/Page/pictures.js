// The picture before and after. Each is asked for only while this part of the page is on the screen, wanted, and the one before
// has come; so a page that nobody sees costs the stream nothing.

import { api } from "/page/api.js";
import { find, text } from "/page/elements.js";
import { duration } from "/page/formats.js";

const interval = 1000;
// A picture that is older says so.
const fresh = 4000;

export class Pictures {
  isWanted = true;
  isFlowing = false;
  isBypassed = false;
  #stream = "";
  #isOnScreen = false;
  #sides = { before: find("before"), after: find("after") };
  #shownAt;
  #fault;
  #isPlain = false;

  constructor() {
    const divider = find("divider");
    const divide = () => {
      const share = divider.value / 10;
      this.#sides.before.style.clipPath = `inset(0 ${100 - share}% 0 0)`;
      find("line").style.left = `${share}%`;
      divider.setAttribute("aria-valuetext", `${Math.round(share)} % before`);
    };
    divider.addEventListener("input", divide);
    divide();
    find("showing").addEventListener("change", ({ target }) => { this.isWanted = target.checked; });
    new IntersectionObserver(([entry]) => { this.#isOnScreen = entry.isIntersecting; }).observe(find("frame"));
    this.#say();
  }

  // Shows another stream; the pictures of the one before go.
  follow(stream) {
    if (stream === this.#stream) return;
    this.#stream = stream;
    this.#shownAt = undefined;
    this.#fault = undefined;
    for (const side of Object.values(this.#sides)) this.#show(side, null);
    this.#say();
  }

  async run() {
    for (;;) {
      if (this.isWanted && this.isFlowing && !this.isBypassed && this.#isOnScreen && !document.hidden) await this.#renew();
      this.#say();
      await new Promise((done) => setTimeout(done, interval));
    }
  }

  async #renew() {
    const stream = this.#stream;
    const width = Math.min(1920, Math.ceil(find("frame").clientWidth * devicePixelRatio / 64) * 64);
    try {
      // Together, so that both are of one frame.
      const [before, after] = await Promise.all([api.picture(stream, "before", width), api.picture(stream, "after", width)]);
      if (stream !== this.#stream) return;
      this.#fault = undefined;
      if (!before) return;
      // Nothing is enhanced while nobody receives the stream.
      this.#isPlain = !after;
      this.#show(this.#sides.before, before);
      this.#show(this.#sides.after, after ?? before);
      this.#shownAt = performance.now();
    } catch (error) {
      if (stream === this.#stream) this.#fault = error.message;
    }
  }

  // What stands in the place of a picture, or how old the one is that is shown.
  #say() {
    const age = this.#shownAt == null ? undefined : performance.now() - this.#shownAt;
    find("nopicture").hidden = age != null;
    find("frame").classList.toggle("empty", age == null);
    const why = !this.isFlowing ? "No picture yet: it comes with the source."
      : this.isBypassed ? "No picture: they go out as they came, and none is decoded." : "No picture yet.";
    if (age == null) text(find("nopicture"), this.#fault ?? why);
    const isOld = age > fresh;
    const isPlain = age != null && this.#isPlain;
    find("age").hidden = !isOld && !isPlain;
    find("frame").classList.toggle("old", isOld);
    if (isOld) text(find("age"), `This picture is ${duration(age / 1000)} old.`);
    else if (isPlain) text(find("age"), "As it comes in. Nobody receives the stream now, so nothing is enhanced.");
  }

  #show(image, blob) {
    const old = image.getAttribute("src");
    if (blob) image.src = URL.createObjectURL(blob); else image.removeAttribute("src");
    if (old) URL.revokeObjectURL(old);
  }
}
