/**
 * When each step of a turn waited, waited for the user, and ran. Numbers only.
 * @module
 */

import { callsOf } from "./frames.js";

/**
 * @typedef {import("./frames.js").Turn} Turn
 * @typedef {import("./frames.js").CallItem} CallItem
 * @typedef {"waiting" | "person" | "running"} State
 */

/**
 * @typedef {object} Span
 * @property {State} state
 * @property {number} from
 * @property {number} to
 * @property {boolean} isOpen whether it goes on
 */
/**
 * @typedef {object} Bar
 * @property {string} key
 * @property {string} label
 * @property {string} outcome
 * @property {Span[]} spans
 */
/**
 * @typedef {object} Spans
 * @property {number} from
 * @property {number} to
 * @property {boolean} isOpen
 * @property {Bar[]} bars
 */

/**
 * The bars of a turn: one for the model, and one for each call.
 * @param {Turn} turn
 * @param {(seq: number) => number | undefined} at when an entry was written
 * @param {number} now
 * @returns {Spans}
 */
export function spansOf(turn, at, now) {
  const from = at(turn.began) ?? now;
  const end = turn.ended > 0 ? at(turn.ended) : undefined;
  const to = Math.max(end ?? now, from + 1);
  const calls = callsOf(turn).filter((call) => call.seqs.received > 0);
  const bars = calls.map((call) => callBar(call, at, to));
  return { from, to, isOpen: end === undefined, bars: [modelBar(turn, at, from, to), ...bars] };
}

/**
 * @param {Turn} turn
 * @param {(seq: number) => number | undefined} at
 * @param {number} from
 * @param {number} to
 * @returns {Bar}
 */
function modelBar(turn, at, from, to) {
  /** @type {Span[]} */
  const spans = [];
  let begun = from;
  let working = 0;
  for (const item of turn.items) {
    if (item.kind === "answer" && item.seq > 0) {
      const said = at(item.seq) ?? to;
      spans.push({ state: "running", from: begun, to: Math.max(said, begun), isOpen: false });
      begun = said;
    } else if (item.kind === "call") {
      const finished = item.seqs.finished > 0 ? at(item.seqs.finished) : undefined;
      if (finished === undefined) working += 1;
      else begun = Math.max(begun, finished);
    }
  }
  const isOpen = turn.ended === 0 && working === 0;
  if (isOpen) spans.push({ state: "running", from: begun, to: Math.max(to, begun), isOpen });
  const name = [turn.model, turn.provider].find((one) => one !== "") ?? "";
  const outcome = isOpen ? "answers" : turn.ended > 0 ? "finished" : "waits for results";
  return { key: "model", label: name ? `Model ${name}` : "Model", outcome, spans };
}

/**
 * @param {CallItem} call
 * @param {(seq: number) => number | undefined} at
 * @param {number} to
 * @returns {Bar}
 */
function callBar(call, at, to) {
  const { received, asked, answered, started, finished } = call.seqs;
  /** @type {[number, State | null][]} */
  const points = [
    [received, "waiting"],
    [asked, "person"],
    [answered, "waiting"],
    [started, "running"],
    [finished, null],
  ];
  /** @type {Span[]} */
  const spans = [];
  for (const [seq, state] of points) {
    const begun = seq > 0 ? at(seq) : undefined;
    if (begun === undefined) continue;
    const last = spans.at(-1);
    if (last) {
      last.to = Math.max(begun, last.from);
      last.isOpen = false;
    }
    if (state) spans.push({ state, from: begun, to: Math.max(to, begun), isOpen: true });
  }
  const label = call.summary || call.tool;
  return { key: call.key, label, outcome: outcomeOf(call), spans };
}

/**
 * How a call stands, in words.
 * @param {CallItem} call
 * @returns {string}
 */
export function outcomeOf(call) {
  if (call.result) return call.result.kind ? (KINDS[call.result.kind] ?? call.result.kind) : "done";
  if (call.state === "asked") return "waits for you";
  if (call.state === "running") return "runs";
  return "waits";
}

/** @type {Record<string, string>} */
const KINDS = {
  user_denied: "denied by you",
  policy_denied: "denied by a rule",
  no_approver: "nobody answered",
  approval_expired: "the question expired",
  cancelled: "cancelled",
  timeout: "took too long",
  exit_status: "failed",
  interrupted: "interrupted",
};

/**
 * How long a bar was in a state.
 * @param {Bar} bar
 * @param {State} state
 * @returns {number}
 */
export function total(bar, state) {
  const spans = bar.spans.filter((span) => span.state === state);
  return spans.reduce((sum, span) => sum + span.to - span.from, 0);
}

/**
 * Moments for the axis: at most so many, at even distances.
 * @param {number} length in milliseconds
 * @param {number} most
 * @returns {number[]}
 */
export function ticks(length, most) {
  const least = length / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least) ?? least;
  /** @type {number[]} */
  const all = [];
  for (let at = 0; at <= length; at += step) all.push(at);
  return all;
}
