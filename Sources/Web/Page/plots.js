// Bars and lines, drawn with elements of the page itself.

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
    name.textContent = stage.name.replaceAll("_", " ");
    track.children[0].style.width = `${100 * stage.p50 / most}%`;
    track.children[1].style.left = `calc(${100 * stage.p99 / most}% - 2px)`;
    figures.textContent = `${format(stage.p50)} · ${format(stage.p99)}`;
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

// Two lines over time, the newest value at the right edge. Returns the value at the top.
export function plot(svg, first, second, kept) {
  const most = Math.max(0.005, ...first, ...second);
  draw(svg, [["second", line(second, kept, most)], ["", line(first, kept, most)]]);
  return most;
}

function line(values, kept, most) {
  const start = kept - values.length;
  return values.map((value, index) =>
    `${index ? "L" : "M"}${((start + index) * width / (kept - 1)).toFixed(1)} ${(height - 4 - (value / most) * (height - 8)).toFixed(1)}`
  ).join("");
}

// One level over time, 0 at the top.
export function steps(svg, levels, kept, count) {
  const start = kept - levels.length;
  const y = (level) => (6 + (level / Math.max(1, count - 1)) * (height - 12)).toFixed(1);
  let path = "";
  levels.forEach((level, index) => {
    if (level == null) return;
    const x = ((start + index) * width / (kept - 1)).toFixed(1);
    path += path ? `H${x}V${y(level)}` : `M${x} ${y(level)}`;
  });
  draw(svg, [["", path]]);
}

function draw(svg, lines) {
  while (svg.children.length < lines.length) svg.append(document.createElementNS(space, "path"));
  lines.forEach(([kind, path], index) => {
    svg.children[index].setAttribute("class", kind);
    svg.children[index].setAttribute("d", path);
  });
}
