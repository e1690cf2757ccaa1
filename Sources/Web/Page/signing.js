// What this browser may do, and the dialog that gives the service its token. The service keeps who may: the page only does not
// send what would be refused.

import { api, onSignInNeeded, signIn, signOut } from "/page/api.js";
import { find, text } from "/page/elements.js";

export const session = { needsToken: false, isAuthorised: false, mayView: false, mayChange: false, pageAddress: null };

const followers = [];
// Called with the session whenever it changes.
export function onSession(action) { followers.push(action); }

export async function askSession() {
  Object.assign(session, await api.session());
  find("sign").hidden = !session.needsToken;
  text(find("sign"), session.isAuthorised ? "Sign out" : "Sign in");
  for (const action of followers) action(session);
  if (!session.mayView) showSignIn();
}

// Whether streams may be changed from here. Where not, asks for the token.
export function mayChange() {
  if (!session.mayChange) showSignIn();
  return session.mayChange;
}

const dialog = find("signing");

export function showSignIn() { if (!dialog.open) dialog.showModal(); }

onSignInNeeded(() => {
  // The session has ended.
  askSession().then(showSignIn, () => {});
});
find("sign").addEventListener("click", () => {
  if (session.isAuthorised) signOut().then(askSession).catch(() => {}); else showSignIn();
});
find("signing-cancel").addEventListener("click", () => dialog.close());
find("signing-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const fault = await signIn(find("token").value);
  text(find("signing-fault"), fault ?? "");
  if (fault) return;
  find("token").value = "";
  dialog.close();
  await askSession();
});
