// How the chosen stream is doing now: tiles, what comes in, both legs, the outputs, what became of the frames.

import { find, fill, fillRows, text } from "/page/elements.js";
import { bitRate, decimal, duration, milliseconds, unknown, whole } from "/page/formats.js";

// A median of no frames is unknown.
export const quantile = (histogram, name) => histogram?.count ? histogram[name] : null;
// 0 is what a leg without a measured time has.
const measured = (seconds) => seconds || null;

export function showFigures(now, stream) {
  const unwatched = now?.dropped?.output_down;
  const latency = now?.latency?.original;
  const cores = now?.cores?.synthesising ? `${decimal(now.cores.least)} to ${decimal(now.cores.synthesising)}` : unknown;
  fill(find("tiles"), [
    ["Bit rate in", bitRate(now?.input?.bitRate)],
    ["Bit rate out", bitRate(sum(now?.outputs?.map((each) => each.bitRate))), "All outputs together"],
    ["Frames a second", decimal(now?.rate), "Those that leave"],
    ["Latency, median", milliseconds(quantile(latency, "p50")), "From a frame's last packet to its leaving, in the last 5 seconds"],
    ["Latency, 99 %", milliseconds(quantile(latency, "p99")), "99 of 100 frames of the last 5 seconds were no later"],
    ["Deadlines missed", whole(now?.deadlineMisses), "Frames that left later than the latency budget allows"],
    ["Dropped", whole(now && now.books.dropped - (unwatched ?? 0)), "Frames that were lost in the service; the table says why"],
    ["Nobody watched", whole(unwatched), "Frames that were ready while no receiver was there"],
    ["Made in between", whole(now?.books.synthesised), "Frames that were never sent: synthesised between two others"],
    ["Cores needed", cores, "From what is indispensable to what the best quality takes"],
    ["Running for", duration(now?.uptime ?? stream?.secondsRunning)],
  ]);
  showSource(now);
  showDrops(now);
  showLeg(find("input"), now?.input, stream?.input, "in");
  showLeg(find("output"), now?.output, stream?.outputs[0], "out");
  showOutputs(now?.outputs ?? []);
}

function sum(values) {
  const known = values?.filter((value) => value != null) ?? [];
  return known.length ? known.reduce((total, value) => total + value, 0) : null;
}

const joined = (...parts) => parts.filter((part) => part != null && part !== "").join(", ") || unknown;

function showSource(now) {
  const input = now?.input ?? {};
  const size = input.width ? `${input.width}x${input.height}` : now?.sizes?.input;
  const sound = (input.sound ?? []).map((each) => joined(
    each.codec, each.channels && `${each.channels} channel${each.channels > 1 ? "s" : ""}`,
    each.sampleRate && `${decimal(each.sampleRate / 1000)} kHz`, each.bitRate && bitRate(each.bitRate)));
  fill(find("source"), [
    ["Coded as", joined(input.codec, input.profile, input.level && `level ${input.level}`)],
    ["Pictures", joined(size, input.frameRate && `${decimal(input.frameRate)} a second`, input.bitDepth && `${input.bitDepth} bits`)],
    ["Keyframe every", keyframes(input)],
    ["Sound", sound.join("; ") || unknown],
  ]);
}

function keyframes({ keyframeInterval: interval }) {
  return interval == null ? unknown : interval < 1 ? milliseconds(interval) : `${decimal(interval)} s`;
}

const reasons = {
  late: "came too late", overload: "too much work for the machine", cadence: "left out for the output's rate",
  no_keyframe: "not decodable before a keyframe", decode_error: "not decodable", encode_error: "not encodable",
  discontinuity: "out of order", shutdown: "under way when the stream ended",
  masked: "not masked", other_layer: "all viewers get another layer",
};

function showDrops(now) {
  const rows = Object.entries(now?.dropped ?? {}).filter(([reason, count]) => count > 0 && reason !== "output_down")
    .sort((a, b) => b[1] - a[1]).map(([reason, count]) => [reasons[reason] ?? reason, whole(count)]);
  fillRows(find("drops"), now && !rows.length ? [["none", "0"]] : rows);
  const books = now?.books;
  const unwatched = now?.dropped?.output_down;
  fill(find("books"), [
    ["came in", whole(books?.originals)], ["made in between", whole(books?.synthesised)], ["repeated", whole(books?.repeated)],
    ["sent", whole(books?.emitted)], ["sent as they came", whole(books?.bypassed)],
    ["dropped", whole(books && books.dropped - (unwatched ?? 0))], ["nobody watched", whole(unwatched)],
    ["under way", whole(books?.inFlight)],
  ]);
}

function showLeg(list, leg, url, direction) {
  const count = (value) => leg?.connections > 0 ? whole(value) : unknown;
  // Nobody knows what plain UDP loses.
  const repair = (value) => url?.startsWith("udp:") ? unknown : count(value);
  fill(list, [
    ["Connection", leg ? leg.isConnected ? "up" : "down" : unknown],
    ["Round trip", milliseconds(measured(leg?.roundTripTime))],
    ["Latency window", milliseconds(measured(leg?.window)), "How long lost packets may be sent again"],
    ["Packets", count(direction === "in" ? leg?.packetsReceived : leg?.packetsSent)],
    ["Lost", repair(leg?.packetsLost)],
    [direction === "in" ? "Repaired" : "Sent again", repair(leg?.packetsRetransmitted)],
    ["Dropped packets", repair(leg?.packetsDropped)],
    ["Connections so far", whole(leg?.connections)],
  ]);
}

const outputStates = { waiting: "nobody there", connected: "up", broken: "broken" };
const missed = {
  not_connected: "nobody there", refused: "too slow", awaits_keyframe: "before a keyframe", shutdown: "process ended",
};

// Each output, where there are several or one has several readers.
function showOutputs(outputs) {
  find("outputs").hidden = outputs.length < 2 && !outputs.some((each) => each.receivers > 1);
  fillRows(find("outputs-table"), outputs.map((each, index) => [
    whole(index + 1), outputStates[each.state] ?? each.state, whole(each.receivers), bitRate(each.bitRate),
    milliseconds(measured(each.link.roundTripTime)), whole(each.units.sent),
    Object.entries(each.unitsDropped).filter(([, count]) => count > 0)
      .map(([reason, count]) => `${missed[reason] ?? reason} ${whole(count)}`).join(", ") || "none",
    whole(each.units.queued),
  ]));
}
