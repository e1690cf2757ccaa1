// The service's API as the page uses it. Times are in seconds.

let signInNeeded = () => {};
export function onSignInNeeded(action) { signInNeeded = action; }

async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new Error("The service does not answer.");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  const error = new Error(problem.detail ?? problem.title ?? `${path}: ${response.status}`);
  error.status = response.status;
  if (response.status === 401) {
    error.isSignInNeeded = true;
    signInNeeded();
  }
  throw error;
}

export { call as send };

const json = async (path, options) => (await call(path, options)).json();
const stream = (name, rest = "") => `/api/v1/streams/${encodeURIComponent(name)}${rest}`;

export const api = {
  streams: () => json("/api/v1/streams"),
  health: () => json("/api/v1/health"),
  session: () => json("/api/v1/session"),
  figures: (name) => json(stream(name, "/statistics")),
  change: (name, settings) => json(stream(name), {
    method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ settings }),
  }),
  restart: (name) => call(stream(name, "/restart"), { method: "POST" }),
  picture: async (name, side, width) => (await call(stream(name, `/picture/${side}?width=${width}`))).blob(),
};

// Returns why it failed; nothing when it did not.
export async function signIn(token) {
  try {
    await call("/login", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }),
    });
  } catch (error) {
    return error.status === 401 ? "This is not the token." : error.message;
  }
}

export const signOut = () => call("/logout", { method: "POST" });
