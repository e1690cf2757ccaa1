// A text with a button that copies it.

import { button, made, text } from "/page/elements.js";

// - term: what stands before it. - name: what the text is, for screen readers.
export function copyable(value, term, name) {
  const code = made("code", {}, value);
  const copy = button("Copy", async () => {
    text(copy, await put(value, code) ? "Copied" : "Select it");
    setTimeout(() => text(copy, "Copy"), 2000);
  }, { class: "plain", "aria-label": `Copy ${name}` });
  return made("div", { class: "copyable" }, made("span", { class: "term" }, term), code, copy);
}

// Browsers give the clipboard only to pages that came by HTTPS or from this machine. Others can copy what is selected.
async function put(value, element) {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand("copy");
  }
}
