// The page of burnishd: which streams there are, and how the chosen one is doing. Polls the API while it is visible, and asks
// for pictures only while they are shown.

import { Addresses } from "/page/addresses.js";
import { api, onHeard } from "/page/api.js";
import { ask } from "/page/asking.js";
import { Callers } from "/page/callers.js";
import { Calls } from "/page/calls.js";
import { Captures } from "/page/captures.js";
import { Controls } from "/page/controls.js";
import { Editor } from "/page/editor.js";
import { find, text } from "/page/elements.js";
import { endEvents, followEvents } from "/page/events.js";
import { showFigures } from "/page/figures.js";
import { decimal, milliseconds } from "/page/formats.js";
import { History } from "/page/history.js";
import { Pictures } from "/page/pictures.js";
import { Reactions } from "/page/reactions.js";
import { Rooms } from "/page/rooms.js";
import { bars } from "/page/plots.js";
import { askSession, mayChange, onSession, session } from "/page/signing.js";
import { showStreams, showTitle } from "/page/streams.js";

const figuresInterval = 1000;
const streamsInterval = 2000;

let chosen = decodeURIComponent(location.hash.slice(1));
// What the service said last of the chosen stream.
let stream;
let names = [];
let callers = [];
const pictures = new Pictures();
const captures = new Captures(report);
const history = new History();
const addresses = new Addresses();
const connections = new Callers(report);
const calls = new Calls(() => history.latency);
const rooms = new Rooms(report);
const controls = new Controls(find("controls"), (settings) => api.change(chosen, { settings }));
const reactions = new Reactions(find("reactions"), (kind) => api.react(chosen, kind));
const editor = new Editor((name, what) => {
  say(what);
  names.push(name);
  location.hash = encodeURIComponent(name);
  choose(name);
  renewStreams().catch(report);
});

// MARK: What the page says

const faults = new Map();

// Shows a fault until the same part of the page works again.
function notice(part, message) {
  if (message) faults.set(part, message); else faults.delete(part);
  const shown = [...new Set(faults.values())].join(" ");
  find("notice").hidden = !shown;
  text(find("notice"), shown);
}

function report(error) {
  if (error.isSignInNeeded || error.isSilence) return;
  notice("action", error.message);
  setTimeout(() => notice("action"), 15000);
}

function say(what) {
  find("said").hidden = !what;
  text(find("said"), what);
  setTimeout(() => { if (find("said").textContent === what) find("said").hidden = true; }, 15000);
}

let silentSince;
// Figures of a service that does not answer are grey.
onHeard((isHeard) => {
  if (isHeard === (silentSince == null)) return;
  silentSince = isHeard ? undefined : new Date();
  document.body.classList.toggle("silent", !isHeard);
  notice("silence", isHeard ? undefined
    : `The service does not answer since ${silentSince.toLocaleTimeString()}. What stands here in grey is from before.`);
});

// MARK: Rounds

async function renewStreams() {
  const [{ streams }, health, roomsNow] = await Promise.all([api.streams(), api.health(), api.rooms()]);
  rooms.show(roomsNow);
  text(find("machine"), `${decimal(health.coresUsed)} of ${decimal(health.cores)} cores in use`
    + (health.lastReloadWasGood ? "" : " · the last reload failed: see the events"));
  names = streams.map((each) => each.name);
  if (!names.includes(chosen)) choose(names[0] ?? "");
  editor.streams = streams;
  showStreams(streams, chosen);
  const entry = streams.find((each) => each.name === chosen);
  if (entry) await renewStream(entry);
}

async function renewStream(next) {
  const { name } = next;
  if (name !== chosen) return;
  stream = next;
  pictures.follow(name);
  captures.follow(stream);
  pictures.keepsPast = captures.isKept && session.mayChange;
  showTitle(stream);
  addresses.show(stream);
  showControls();
  text(find("remove"), stream.fromFile ? "Stop" : "Stop and remove");
  const answer = await api.callers(name);
  if (name !== chosen) return;
  callers = answer;
  connections.show(name, callers);
  calls.follow(stream, callers);
}

function showControls() {
  find("controls-why").hidden = session.mayChange;
  reactions.show(stream?.settings, session.mayChange);
  if (stream) controls.show(stream.settings, stream.name, session.mayChange);
}

async function renewFigures() {
  if (stream?.name !== chosen) return;
  const name = chosen;
  const now = await api.figures(name);
  if (name !== chosen) return;
  pictures.isFlowing = now != null && stream?.state === "flowing";
  history.add(now, callers.filter((each) => each.side === "output").length);
  pictures.isBypassed = history.isBypassed;
  showFigures(now, stream);
  bars(find("stages"), now?.stages ?? [], milliseconds);
  const sizes = now?.sizes ? `${now.sizes.input} → ${now.sizes.output}` : "";
  text(find("sizes"), sizes + (history.isBypassed ? ", sent as it came" : ""));
  await captures.renew();
  await history.renew(name);
}

function choose(name) {
  if (name === chosen && stream?.name === name) return;
  chosen = name;
  stream = undefined;
  callers = [];
  find("stream").hidden = !name;
  pictures.isFlowing = undefined;
  pictures.follow(name);
  history.begin();
  if (names.includes(name)) api.stream(name).then(renewStream).then(renewFigures).catch(report);
}

// One round after the other, never two at once, and none while the page is hidden or may not see anything.
async function turn(round, interval) {
  for (;;) {
    if (!document.hidden && session.mayView) {
      try {
        await round();
        notice(round);
      } catch (error) {
        // A stream that was removed just now.
        if (!error.isSignInNeeded && !error.isSilence && error.status !== 404) notice(round, error.message);
      }
    }
    await new Promise((done) => setTimeout(done, interval));
  }
}

// MARK: What the user does

addEventListener("hashchange", () => choose(decodeURIComponent(location.hash.slice(1))));
find("add").addEventListener("click", () => { if (mayChange()) editor.open(); });
find("change").addEventListener("click", () => { if (mayChange() && stream) editor.open(stream); });
find("restart").addEventListener("click", async () => {
  const name = chosen;
  if (!mayChange()) return;
  if (await ask(`Restart ${name}?`, "Its viewers lose the picture for a moment, senders have to connect again.", "Restart")) {
    await api.restart(name).catch(report);
  }
});
find("remove").addEventListener("click", async () => {
  const { name, fromFile: isFromFile } = stream ?? {};
  if (!name || !mayChange()) return;
  const consequence = isFromFile ? "It ends now, and comes back when the service reads its configuration file again."
    : "It ends now. What it was set to is gone.";
  if (!await ask(`${isFromFile ? "Stop" : "Stop and remove"} ${name}?`, consequence, isFromFile ? "Stop" : "Remove")) return;
  // Nobody asks any more for what is about to go.
  stream = undefined;
  pictures.isFlowing = undefined;
  await api.remove(name).then(() => say(`${name} has ended.`), report);
  renewStreams().catch(report);
});

let mayView = false;
onSession(() => {
  showControls();
  if (session.mayView === mayView) return;
  mayView = session.mayView;
  if (mayView) followEvents(); else endEvents();
});

// Again and again until the service has answered once.
async function begin() {
  try {
    const settings = await api.settings();
    editor.know(settings);
    controls.know(settings);
    await askSession();
  } catch (error) {
    report(error);
    setTimeout(begin, streamsInterval);
  }
}

begin();
turn(renewStreams, streamsInterval);
turn(renewFigures, figuresInterval);
pictures.run();
