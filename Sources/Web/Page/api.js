// The service's API as the page uses it. Times are in seconds.

// A service that gives no answer for so long does not answer.
const timeout = 10000;

let signInNeeded = () => {};
export function onSignInNeeded(action) { signInNeeded = action; }
let heard = () => {};
let heardAt = 0;
// Called after each request with whether the service answered it, whatever the answer was.
export function onHeard(action) { heard = action; }

async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {
      credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(timeout), ...options,
    });
  } catch (fault) {
    // One slow answer is not silence while others come.
    if (fault.name !== "TimeoutError" || performance.now() - heardAt >= timeout) heard(false);
    const error = new Error("The service does not answer.");
    error.isSilence = true;
    throw error;
  }
  heardAt = performance.now();
  heard(true);
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  const error = new Error(problem.detail ?? problem.title ?? `${path}: ${response.status}`);
  error.status = response.status;
  error.key = problem.key;
  if (response.status === 401) {
    error.isSignInNeeded = true;
    signInNeeded();
  }
  throw error;
}

export { bearer, call as send };

const json = async (path, options) => (await call(path, options)).json();
const body = (method, content, headers = {}) => ({
  method, headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(content),
});
const room = (name, rest = "") => `/api/v1/rooms/${encodeURIComponent(name)}/guests${rest}`;
const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const stream = (name, rest = "") => `/api/v1/streams/${encodeURIComponent(name)}${rest}`;

export const api = {
  streams: () => json("/api/v1/streams"),
  stream: (name) => json(stream(name)),
  health: () => json("/api/v1/health"),
  session: () => json("/api/v1/session"),
  settings: async () => (await json("/api/v1/settings")).settings,
  figures: (name) => json(stream(name, "/statistics")),
  history: (name, seconds) => json(stream(name, `/history?seconds=${seconds}`)),
  callers: async (name) => (await json(stream(name, "/callers"))).callers,
  tellFreezes: (resource, freezes, headers) => call(`${resource}/freezes`, body("PUT", { freezes }, headers)),
  // - layer: `enhanced`, `sent` or `sound`; `auto` is what the link carries.
  chooseLayer: (resource, layer, headers) => call(`${resource}/layer`, body("PUT", { layer }, headers)),
  kick: (name, id) => call(stream(name, `/callers/${id}`), { method: "DELETE" }),
  add: (definition) => json("/api/v1/streams", body("POST", definition)),
  change: (name, changes, restarts = false) => json(stream(name, restarts ? "?restart=true" : ""), body("PATCH", changes)),
  remove: (name) => call(stream(name), { method: "DELETE" }),
  restart: (name) => call(stream(name, "/restart"), { method: "POST" }),
  react: (name, kind) => call(stream(name, "/reactions"), body("POST", { kind })),
  rooms: async () => (await json("/api/v1/rooms")).rooms,
  makeRoomLink: (name, wish) => json(`/api/v1/rooms/${encodeURIComponent(name)}/links`, body("POST", wish)),
  // - token: the link's. What comes back has the pass for the rest.
  enterRoom: (name, token, as) => json(room(name), body("POST", { name: as }, bearer(token))),
  guests: (name, pass) => json(room(name), { headers: bearer(pass) }),
  leaveRoom: (name, pass, seat) => call(room(name, `/${seat}`), { method: "DELETE", headers: bearer(pass), keepalive: true }),
  // Nothing while there is none yet.
  picture: async (name, side, width) => {
    const response = await call(stream(name, `/picture/${side}?width=${width}`));
    return response.status === 204 ? undefined : response.blob();
  },
  // Of the past. - side: what came in or went out, before or after.
  bestPicture: async (name, side, width) => (await call(stream(name, `/picture/best?side=${side}&width=${width}`))).blob(),
  readiness: (name) => json(stream(name, "/readiness")),
  deferred: async (name) => (await json(stream(name, "/deferred"))).deferred,
  makeStill: (name, wish) => json(stream(name, "/stills"), body("POST", wish)),
  // - wait: seconds, for the final one.
  still: async (name, number, wait) => {
    const response = await call(stream(name, `/stills/${number}${wait ? `?wait=${wait}s` : ""}`));
    return { blob: await response.blob(), isFinal: response.headers.get("Burnish-Still") === "final" };
  },
  makeClip: (name, wish) => json(stream(name, "/clips"), body("POST", wish)),
  clip: (name, number) => json(stream(name, `/clips/${number}`)),
};

// Returns why it failed; nothing when it did not.
export async function signIn(token) {
  try {
    await call("/login", body("POST", { token }));
  } catch (error) {
    return error.status === 401 ? "This is not the token." : error.message;
  }
}

export const signOut = () => call("/logout", { method: "POST" });
