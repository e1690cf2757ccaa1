// The page of burnishd: which streams there are, and how the chosen one is doing. Polls the API while it is visible, and asks
// for pictures only while they are shown.

import { bars, plot, steps } from "/page/plots.js";
import { Pictures } from "/page/pictures.js";
import { Controls } from "/page/controls.js";
import { Calls } from "/page/calls.js";
import { api, send, signIn, signOut, onSignInNeeded } from "/page/api.js";

const $ = (id) => document.getElementById(id);
const figuresInterval = 1000;
const streamsInterval = 2000;
const eventsInterval = 10000;
// Two minutes of figures.
const kept = 120;

let chosen = decodeURIComponent(location.hash.slice(1));
let history = [];
const pictures = new Pictures($("before"), $("after"), $("divider"), $("line"), $("nopicture"));
const controls = new Controls($("controls"), (changes) => api.change(chosen, changes));
const calls = new Calls($("call"), $, send, text, () => history.at(-1)?.p50);

// Text of elements is always set as text, never as markup: names and addresses come from outside.
function text(element, value) { if (element.textContent !== value) element.textContent = value; }

function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const milliseconds = (seconds) =>
  seconds == null ? "–" : `${(seconds < 0.001 ? fine : number).format(seconds * 1000)} ms`;

function notice(message) {
  $("notice").hidden = !message;
  text($("notice"), message ?? "");
}

// MARK: Streams

async function showStreams() {
  const [{ streams }, health] = await Promise.all([api.streams(), api.health()]);
  text($("machine"), `${number.format(health.coresUsed)} of ${number.format(health.cores)} cores in use`
    + (health.lastReloadWasGood ? "" : " · the last reload failed: see the events"));
  $("none").hidden = streams.length > 0;
  if (!streams.some((each) => each.name === chosen)) choose(streams[0]?.name ?? "");
  const list = $("streams");
  const items = new Map([...list.children].map((item) => [item.dataset.name, item]));
  for (const stream of streams) {
    const item = items.get(stream.name) ?? newItem(stream.name);
    items.delete(stream.name);
    item.className = stream.state;
    const [link] = item.children;
    const [, what] = link.children;
    text(what, describe(stream));
    if (stream.name === chosen) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    if (item.parentNode !== list) list.append(item);
    if (stream.name === chosen) showStatus(stream);
  }
  for (const item of items.values()) item.remove();
}

function newItem(name) {
  const dot = made("span", { class: "dot", "aria-hidden": "true" });
  const link = made("a", { href: `#${encodeURIComponent(name)}` }, made("strong", {}, dot, name), made("span"));
  const item = made("li", {}, link);
  item.dataset.name = name;
  return item;
}

const states = {
  starting: "starting", waiting: "waiting for its source", flowing: "flowing", backingOff: "restarting", stopped: "stopped",
};

function describe(stream) {
  return states[stream.state] ?? stream.state;
}

function showStatus(stream) {
  $("stream").hidden = false;
  text($("name"), stream.name);
  text($("state"), describe(stream));
  $("state").className = `state ${stream.state}`;
  text($("reason"), stream.reason || `${stream.input} → ${stream.outputs.join(", ")}`);
  controls.show(stream.settings, stream.name);
  calls.follow(stream);
}

function choose(name) {
  if (name === chosen && history.length) return;
  chosen = name;
  history = [];
  $("stream").hidden = !name;
  pictures.follow(name);
  if (name) showFigures().catch(report);
}

// MARK: Figures

async function showFigures() {
  if (!chosen) return;
  const asked = chosen;
  const now = await api.figures(asked);
  if (asked !== chosen) return;
  pictures.isFlowing = now != null;
  if (!now) return;
  const before = history.at(-1)?.books;
  const isBypassed = before != null && now.books.bypassed > before.bypassed && now.books.emitted === before.emitted;
  history.push({ books: now.books, p50: now.latency.original.p50, p99: now.latency.original.p99, rung: now.rung });
  if (history.length > kept) history.shift();
  showTiles(now);
  bars($("stages"), now.stages, milliseconds);
  const most = plot($("latency"), history.map((each) => each.p50), history.map((each) => each.p99), kept);
  text($("scale"), `two minutes; the full height is ${milliseconds(most)}; thick: median, thin: 99th percentile`);
  steps($("rungs"), history.map((each) => each.rung), kept, now.rungs.length);
  text($("rung"), now.rung == null ? "" : `now: ${now.rungs[now.rung]}`);
  showDrops(now);
  showLeg($("input"), now.input, "in");
  showLeg($("output"), now.output, "out");
  showOutputs(now.outputs);
  text($("sizes"), (now.sizes ? `${now.sizes.input} → ${now.sizes.output}` : "") + (isBypassed ? ", sent as it came" : ""));
}

function showTiles(now) {
  const tiles = [
    ["Frames out a second", number.format(now.rate)],
    ["Latency, median", milliseconds(now.latency.original.p50)],
    ["Latency, 99 %", milliseconds(now.latency.original.p99)],
    ["Deadlines missed", whole.format(now.deadlineMisses)],
    ["Synthesised", whole.format(now.books.synthesised)],
    ["Dropped", whole.format(now.books.dropped)],
    ["Cores needed", `${number.format(now.cores.least)} to ${number.format(now.cores.synthesising)}`],
  ];
  fill($("tiles"), tiles);
}

// Keeps the elements that are there, so that a screen reader or a selection is not disturbed.
function fill(list, pairs) {
  while (list.children.length > pairs.length) list.lastElementChild.remove();
  while (list.children.length < pairs.length) list.append(made("div", {}, made("dt"), made("dd")));
  pairs.forEach((pair, index) => pair.forEach((value, place) => text(list.children[index].children[place], value)));
}

const reasons = {
  late: "late", overload: "overload", cadence: "left out for the rate", no_keyframe: "no keyframe", decode_error: "not decodable",
  encode_error: "not encodable", discontinuity: "out of order", output_down: "no receiver", shutdown: "shutdown",
};

function showDrops(now) {
  const rows = Object.entries(now.dropped).filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]);
  const body = $("drops").tBodies[0];
  body.replaceChildren(...(rows.length ? rows : [["none", 0]]).map(([reason, count]) =>
    made("tr", {}, made("td", {}, reasons[reason] ?? reason), made("td", {}, whole.format(count)))));
  const books = now.books;
  text($("books"), `in ${whole.format(books.originals)} + synthesised ${whole.format(books.synthesised)}`
    + ` + repeated ${whole.format(books.repeated)} = emitted ${whole.format(books.emitted)}`
    + (books.bypassed ? ` + bypassed ${whole.format(books.bypassed)}` : "")
    + ` + dropped ${whole.format(books.dropped)} + in flight ${whole.format(books.inFlight)}`);
}

function showLeg(list, leg, direction) {
  const packets = direction === "in" ? leg.packetsReceived : leg.packetsSent;
  fill(list, [
    ["Connection", leg.isConnected ? "up" : "down"],
    ["Round trip", milliseconds(leg.roundTripTime)],
    ["Latency window", milliseconds(leg.window)],
    ["Packets", whole.format(packets)],
    ["Lost", whole.format(leg.packetsLost)],
    [direction === "in" ? "Repaired" : "Sent again", whole.format(leg.packetsRetransmitted)],
    ["Dropped", whole.format(leg.packetsDropped)],
    ["Connections so far", whole.format(leg.connections)],
  ]);
}

const outputStates = { waiting: "nobody", connected: "up", broken: "broken" };
const missed = {
  not_connected: "nobody there", refused: "too slow", awaits_keyframe: "before a keyframe", shutdown: "process ended",
};

// Each output, where there are several or one has several readers.
function showOutputs(outputs) {
  $("outputs").hidden = outputs.length < 2 && !outputs.some((each) => each.receivers > 1);
  $("outputs").querySelector("tbody").replaceChildren(...outputs.map((each, index) => {
    const why = Object.entries(each.unitsDropped).filter(([, count]) => count > 0)
      .map(([reason, count]) => `${missed[reason] ?? reason} ${whole.format(count)}`).join(", ");
    const cells = [
      whole.format(index + 1), outputStates[each.state] ?? each.state, whole.format(each.receivers),
      milliseconds(each.link.roundTripTime), whole.format(each.units.sent), why || "none", whole.format(each.units.queued),
    ];
    return made("tr", {}, ...cells.map((cell) => made("td", {}, cell)));
  }));
}

// MARK: Events

let events;

// Begins with the events that the service still keeps.
function followEvents() {
  events?.close();
  $("events").replaceChildren();
  const source = events = new EventSource("/api/v1/events");
  // A browser asks again by itself, unless it was refused: without a session, or by a proxy.
  source.addEventListener("error", () => {
    if (source === events && source.readyState === EventSource.CLOSED) setTimeout(() => {
      if (source === events) followEvents();
    }, eventsInterval);
  });
  source.addEventListener("message", ({ data }) => {
    const event = JSON.parse(data);
    const time = new Date(event.time * 1000);
    const item = made("li", {},
      made("time", { datetime: time.toISOString() }, time.toLocaleTimeString()), made("b", {}, event.stream ?? "service"),
      made("span", {}, event.text));
    $("events").prepend(item);
    while ($("events").children.length > 200) $("events").lastElementChild.remove();
  });
}

// MARK: Turning

function report(error) {
  if (error.isSignInNeeded) return;
  notice(error.message);
}

// One round after the other, never two at once, and none while the page is hidden.
async function turn(round, interval) {
  for (;;) {
    if (!document.hidden) {
      try {
        await round();
        notice(null);
      } catch (error) {
        report(error);
      }
    }
    await new Promise((done) => setTimeout(done, interval));
  }
}

addEventListener("hashchange", () => choose(decodeURIComponent(location.hash.slice(1))));
$("showing").addEventListener("change", ({ target }) => { pictures.isWanted = target.checked; });
$("restart").addEventListener("click", () => api.restart(chosen).catch(report));

const dialog = $("signing");
function showSignIn() { if (!dialog.open) dialog.showModal(); }
let isSignedIn = false;
function showSession(signedIn) {
  isSignedIn = signedIn;
  text($("sign"), signedIn ? "Sign out" : "Sign in");
}
onSignInNeeded(() => { showSession(false); showSignIn(); });
$("sign").addEventListener("click", () => {
  if (isSignedIn) signOut().then(() => showSession(false), report); else showSignIn();
});
$("signing-cancel").addEventListener("click", () => dialog.close());
$("signing-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const fault = await signIn($("token").value);
  text($("signing-fault"), fault ?? "");
  if (fault) return;
  $("token").value = "";
  showSession(true);
  dialog.close();
  followEvents();
});

api.session().then(({ needsToken, isAuthorised }) => {
  $("sign").hidden = !needsToken;
  showSession(isAuthorised);
}, report);
pictures.follow(chosen);
turn(showStreams, streamsInterval);
turn(showFigures, figuresInterval);
pictures.run();
followEvents();
