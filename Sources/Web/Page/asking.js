// Asks before something that cannot be undone, or that viewers notice.

import { find, text } from "/page/elements.js";

const dialog = find("asking");

// - question: what is to be done. - consequence: what follows from it. - action: the words of the button that does it.
// Gives whether the user wants it.
export function ask(question, consequence, action) {
  text(find("asking-title"), question);
  text(find("asking-text"), consequence);
  text(find("asking-yes"), action);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true });
  });
}
