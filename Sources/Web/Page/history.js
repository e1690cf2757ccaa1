// How the chosen stream did: the last two minutes as this page saw them, or the last hour as the service keeps it.

import { api } from "/page/api.js";
import { find, text } from "/page/elements.js";
import { bitRate, decimal, milliseconds, unknown, whole } from "/page/formats.js";
import { quantile } from "/page/figures.js";
import { Plot } from "/page/plots.js";

const short = 120;
const hour = 3600;
const renewal = 10000;

export class History {
  // Samples in the form of the service's: `time` is in seconds.
  #recent = [];
  // The service's own samples, and when it was asked for the newest of them.
  #hour;
  #heard = -Infinity;
  #rungs = [];
  #asked = -Infinity;
  #isOnScreen = false;

  constructor() {
    new IntersectionObserver(([entry]) => { this.#isOnScreen = entry.isIntersecting; this.#draw(); }).observe(find("history"));
    find("history").addEventListener("change", () => this.#draw());
  }

  get #wantsHour() { return find("history-hour").checked; }

  // The median latency of the last seconds.
  get latency() { return this.#recent.at(-1)?.latencyP50; }

  // Another stream: forgets what is known of the one before.
  begin() {
    this.#recent = [];
    this.#hour = undefined;
    this.#asked = -Infinity;
    this.#draw();
  }

  // Takes the figures of now; nothing where there are none.
  add(now, viewers) {
    if (now) this.#rungs = now.rungs ?? this.#rungs;
    const before = this.#recent.at(-1);
    const latency = now?.latency?.original;
    const lost = now && now.books.dropped - (now.dropped?.output_down ?? 0) - (now.dropped?.other_layer ?? 0);
    const outputs = now?.outputs?.map((each) => each.bitRate).filter((rate) => rate != null) ?? [];
    this.#recent.push({
      time: Date.now() / 1000, latencyP50: quantile(latency, "p50"), latencyP99: quantile(latency, "p99"), rung: now?.rung,
      bitRateIn: now?.input?.bitRate, bitRateOut: outputs.length ? outputs.reduce((sum, rate) => sum + rate, 0) : null,
      lost, dropped: now && before?.lost != null ? Math.max(0, lost - before.lost) : null, viewers, state: now?.state ?? "waiting",
      books: now?.books,
    });
    while (this.#recent[0].time < Date.now() / 1000 - short - 5) this.#recent.shift();
    this.#draw();
  }

  // Whether all pictures of the last second went out as they came.
  get isBypassed() {
    const [before, now] = this.#recent.slice(-2).map((each) => each.books);
    return before != null && now != null && now.bypassed > before.bypassed && now.emitted === before.emitted;
  }

  // Asks the service for the hour, at most every ten seconds and only while it is shown. Once it is there, only for what is new.
  async renew(name) {
    const now = performance.now();
    if (!this.#isOnScreen || !this.#wantsHour || now - this.#asked < renewal) return;
    this.#asked = now;
    const known = this.#hour;
    // Two steps more than needed: one may end between two answers.
    const seconds = known ? Math.min(hour, Math.ceil((now - this.#heard) / 1000 + 2 * known.step)) : hour;
    const { step, samples } = await api.history(name, seconds);
    // Another stream was chosen meanwhile.
    if (this.#asked !== now) return;
    this.#heard = now;
    this.#hour = { step, samples: joined(known?.samples ?? [], samples) };
    this.#draw();
  }

  #draw() {
    if (!this.#isOnScreen) return;
    const isHour = this.#wantsHour;
    const samples = isHour ? this.#hour?.samples ?? [] : this.#recent;
    const step = isHour ? this.#hour?.step ?? 10 : 1;
    const end = isHour ? samples.at(-1)?.time ?? 0 : Date.now() / 1000;
    // A young stream's past fills the plot; it grows up to the hour.
    const length = isHour ? Math.min(hour, Math.max(short, end - (samples[0]?.time ?? end))) : short;
    const plot = (id) => new Plot(find(id), end - length, end).spans(pauses(samples, step, end), "pause");
    const values = (key) => samples.map((sample) => [sample.time, sample[key]]);
    const gap = 3.5 * step;
    const greatest = (least, ...keys) => Math.max(least, ...samples.flatMap((sample) => keys.map((key) => sample[key] ?? 0)));

    const latency = greatest(0.005, "latencyP50", "latencyP99");
    plot("latency").line(values("latencyP99"), latency, gap, "second").line(values("latencyP50"), latency, gap).draw();
    say("latency", milliseconds(latency), `${milliseconds(samples.at(-1)?.latencyP50)} median`);
    const rate = greatest(1000, "bitRateIn", "bitRateOut");
    plot("rates").line(values("bitRateIn"), rate, gap, "second").line(values("bitRateOut"), rate, gap).draw();
    say("rates", bitRate(rate), `${bitRate(samples.at(-1)?.bitRateOut)} out`);
    plot("rungs").steps(values("rung"), this.#rungs.length, gap).draw();
    say("rungs", this.#rungs[0] ?? unknown, this.#rungs[samples.at(-1)?.rung] ?? unknown);
    const dropped = greatest(1, "dropped");
    plot("losses").spans(losses(samples, step, dropped), "loss").draw();
    const lost = samples.reduce((sum, sample) => sum + (sample.dropped ?? 0), 0);
    say("losses", `${whole(dropped)} in ${decimal(step)} s`, `${whole(lost)} in all`);
    const viewers = greatest(1, "viewers");
    plot("watchers").line(values("viewers"), viewers, gap).draw();
    say("watchers", whole(viewers), whole(samples.at(-1)?.viewers));
    for (const element of document.querySelectorAll(".axis")) text(element, `${Math.round(length / 60)} minutes ago`);
  }
}

// Samples that are known, and the service's newest.
function joined(known, newest) {
  const [first, last] = [newest.at(0)?.time, newest.at(-1)?.time];
  return last == null ? known : [...known.filter(({ time }) => time < first && time > last - hour), ...newest];
}

// The times at which the stream did not flow.
function pauses(samples, step, end) {
  return samples.filter((sample) => sample.state != null && sample.state !== "flowing")
    .map((sample) => [sample.time - step, Math.min(end, sample.time)]);
}

function losses(samples, step, most) {
  return samples.filter((sample) => sample.dropped > 0).map((sample) => [sample.time - step, sample.time, sample.dropped / most]);
}

// What a plot shows, in words.
function say(id, most, now) {
  text(find(`${id}-top`), most);
  text(find(`${id}-now`), now);
  find(id).setAttribute("aria-label", `${find(`${id}-title`).textContent}: now ${now}, at most ${most}`);
}
