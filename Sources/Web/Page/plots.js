// Bars and lines, drawn with elements of the page itself. What has not changed is not drawn again.

import { text } from "/page/elements.js";

const space = "http://www.w3.org/2000/svg";
const width = 600;
const height = 90;

// A row for each stage: its median as a bar, its 99th percentile as a line.
export function bars(box, stages, format) {
  const most = Math.max(0.001, ...stages.map((stage) => stage.p99));
  while (box.children.length > stages.length) box.lastElementChild.remove();
  while (box.children.length < stages.length) box.append(row());
  stages.forEach((stage, index) => {
    const [name, track, figures] = box.children[index].children;
    text(name, stage.name.replaceAll("_", " "));
    track.children[0].style.width = `${100 * stage.p50 / most}%`;
    track.children[1].style.left = `calc(${100 * stage.p99 / most}% - 2px)`;
    text(figures, stage.count === 0 ? "–" : `${format(stage.p50)} · ${format(stage.p99)}`);
  });
}

function row() {
  const element = document.createElement("div");
  element.className = "stage";
  const [name, track, figures] = [0, 0, 0].map(() => document.createElement("span"));
  track.className = "track";
  figures.className = "figures";
  for (const part of ["bar", "mark"]) {
    const piece = document.createElement("span");
    piece.className = part;
    track.append(piece);
  }
  element.append(name, track, figures);
  return element;
}

// A plot over time: from `start` at the left edge to `end` at the right one, in seconds.
export class Plot {
  constructor(svg, start, end) {
    this.svg = svg;
    this.start = start;
    this.end = end;
    this.paths = [];
  }

  #x(time) { return ((time - this.start) * width / (this.end - this.start)).toFixed(1); }
  #y(share) { return (height - 4 - share * (height - 8)).toFixed(1); }

  // A line through [time, value]. It breaks where a value is unknown, and where nothing was heard for longer than `gap`.
  line(points, most, gap, kind = "") {
    let path = "", last;
    for (const [time, value] of points) {
      if (value != null) path += `${last == null || time - last > gap ? "M" : "L"}${this.#x(time)} ${this.#y(value / most)}`;
      last = value == null ? undefined : time;
    }
    this.paths.push([kind, path]);
    return this;
  }

  // A level over time, 0 at the top; `count` levels in all.
  steps(points, count, gap) {
    let path = "", last;
    for (const [time, level] of points) {
      const y = level == null ? undefined : this.#y(1 - level / Math.max(1, count - 1));
      if (y) path += last == null || time - last > gap ? `M${this.#x(time)} ${y}` : `H${this.#x(time)}V${y}`;
      last = level == null ? undefined : time;
    }
    this.paths.push(["", path]);
    return this;
  }

  // The times [start, end] during which something was the case, over the whole height or a share of it.
  spans(spans, kind) {
    this.paths.push([kind, spans.map(([start, end, share = 1]) =>
      `M${this.#x(start)} ${height}V${(height * (1 - share)).toFixed(1)}H${this.#x(end)}V${height}Z`).join("")]);
    return this;
  }

  draw() {
    const { svg, paths } = this;
    while (svg.children.length < paths.length) svg.append(document.createElementNS(space, "path"));
    while (svg.children.length > paths.length) svg.lastElementChild.remove();
    paths.forEach(([kind, path], index) => {
      const child = svg.children[index];
      for (const [name, value] of [["class", kind], ["d", path]]) if (child.getAttribute(name) !== value) child.setAttribute(name, value);
    });
  }
}
