// The picture before and after. Each is asked for only while this part of the page is on the screen, wanted, and the one before
// has come; so a page that nobody sees costs the stream nothing. While they do not play, a stream that keeps its past shows its best
// picture, which is asked for until there is one.

import { api } from "/page/api.js";
import { find, text } from "/page/elements.js";
import { duration } from "/page/formats.js";

const interval = 1000;
// A picture that is older says so.
const fresh = 4000;
// After a failure the best picture is asked for again so much later.
const retryAfter = 30000;

export class Pictures {
  isWanted = true;
  // Undefined until figures have said it.
  isFlowing;
  // Whether this browser may ask for pictures of the stream's past.
  keepsPast = false;
  isBypassed = false;
  #stream = "";
  #isOnScreen = false;
  #sides = { before: find("before"), after: find("after") };
  #shownAt;
  #fault;
  #isPlain = false;
  #hasPoster = false;
  // From when on the poster may be asked for.
  #posterFrom = 0;

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
    this.#dropPoster();
    for (const side of Object.values(this.#sides)) this.#show(side, null);
    this.#say();
  }

  async run() {
    for (;;) {
      if (this.#isOnScreen && !document.hidden) {
        if (this.isWanted && this.isFlowing && !this.isBypassed) await this.#renew();
        else if (this.isFlowing != null && this.keepsPast && performance.now() >= this.#posterFrom) await this.#askForPoster();
      }
      this.#say();
      await new Promise((done) => setTimeout(done, interval));
    }
  }

  get #width() { return Math.min(1920, Math.ceil(find("frame").clientWidth * devicePixelRatio / 64) * 64); }

  async #askForPoster() {
    const stream = this.#stream;
    // What went out is kept only while somebody received it.
    for (const side of ["after", "before"]) {
      const poster = await api.bestPicture(stream, side, this.#width).catch(() => undefined);
      if (stream !== this.#stream) return;
      if (!poster) continue;
      this.#hasPoster = true;
      this.#posterFrom = Infinity;
      for (const image of Object.values(this.#sides)) this.#show(image, poster);
      return;
    }
    this.#posterFrom = performance.now() + retryAfter;
  }

  #dropPoster() {
    this.#hasPoster = false;
    this.#posterFrom = 0;
  }

  async #renew() {
    const stream = this.#stream;
    const width = this.#width;
    try {
      // Together, so that both are of one frame.
      const [before, after] = await Promise.all([api.picture(stream, "before", width), api.picture(stream, "after", width)]);
      if (stream !== this.#stream) return;
      this.#fault = undefined;
      if (!before) return;
      // Nothing is enhanced while nobody receives the stream.
      this.#isPlain = !after;
      this.#dropPoster();
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
    const isEmpty = age == null && !this.#hasPoster;
    find("nopicture").hidden = !isEmpty;
    find("frame").classList.toggle("empty", isEmpty);
    find("frame").classList.toggle("poster", this.#hasPoster);
    const why = !this.isFlowing ? "No picture yet: it comes with the source."
      : this.isBypassed ? "No picture: they go out as they came, and none is decoded." : "No picture yet.";
    if (isEmpty) text(find("nopicture"), this.#fault ?? why);
    const isOld = !this.#hasPoster && age > fresh;
    const said = this.#hasPoster ? "The best picture of the last minute. Nothing plays now."
      : isOld ? `This picture is ${duration(age / 1000)} old.`
        : age != null && this.#isPlain ? "As it comes in. Nobody receives the stream now, so nothing is enhanced." : "";
    find("age").hidden = !said;
    find("frame").classList.toggle("old", isOld);
    text(find("age"), said);
  }

  #show(image, blob) {
    const old = image.getAttribute("src");
    if (blob) image.src = URL.createObjectURL(blob); else image.removeAttribute("src");
    if (old) URL.revokeObjectURL(old);
  }
}
