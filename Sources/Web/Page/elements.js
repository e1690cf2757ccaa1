// Elements of the page. Text is always set as text, never as markup: names and addresses come from outside.

export const find = (id) => document.getElementById(id);

export function text(element, value) { if (element.textContent !== value) element.textContent = value; }

// A new element. A child that is a text becomes text.
export function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export function button(label, action, attributes = {}) {
  const element = made("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", action);
  return element;
}

// Pairs of a name and a value in a list. Keeps the elements that are there, so that a screen reader or a selection is not
// disturbed.
export function fill(list, pairs) {
  while (list.children.length > pairs.length) list.lastElementChild.remove();
  while (list.children.length < pairs.length) list.append(made("div", {}, made("dt"), made("dd")));
  pairs.forEach(([name, value, why], index) => {
    const [term, figure] = list.children[index].children;
    text(term, name);
    text(figure, value);
    if (why) list.children[index].title = why; else list.children[index].removeAttribute("title");
  });
}

// The rows of a table, whose cells say on a narrow screen which column they belong to. A cell is a text or an element.
export function fillRows(table, rows) {
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const body = table.tBodies[0];
  while (body.rows.length > rows.length) body.lastElementChild.remove();
  while (body.rows.length < rows.length) {
    // The roles last where the style makes a list of the table.
    body.append(made("tr", { role: "row" }, ...heads.map((head) => made("td", { role: "cell", "data-head": head || undefined }))));
  }
  rows.forEach((cells, index) => cells.forEach((cell, place) => {
    const kept = body.rows[index].cells[place];
    if (typeof cell === "string") text(kept, cell); else if (kept.firstChild !== cell) kept.replaceChildren(cell);
  }));
}
