/**
 * A call: what it does, how it stands, and what came of it.
 * @module
 */

import { attribute, fill, h, lasting, put, say } from "./dom.js";
import { read } from "./diff.js";
import { plain } from "./markdown.js";
import { outcomeOf } from "./spans.js";

/** @typedef {import("./frames.js").CallItem} CallItem */

/** @type {Record<string, string>} */
const MARKS = { wait: "○", ask: "?", run: "◐", ok: "✓", bad: "✕", no: "⊘" };

/** The kinds of results that are decisions and no errors. */
const DENIED = new Set(["user_denied", "policy_denied", "no_approver", "approval_expired", "disabled"]);

/**
 * How a call looks.
 * @param {CallItem} call
 * @returns {string}
 */
function lookOf(call) {
  if (call.result) {
    if (!call.result.kind) return "ok";
    return DENIED.has(call.result.kind) || call.result.kind === "cancelled" ? "no" : "bad";
  }
  if (call.state === "asked") return "ask";
  return call.state === "running" ? "run" : "wait";
}

export class Call extends HTMLElement {
  /** @type {CallItem | null} */
  #call = null;
  #isOpened = false;
  #state = "";
  #mark = h("span", { class: "mark", "aria-hidden": "true" });
  #tool = h("span", { class: "tool" });
  #title = h("span", { class: "title" });
  #how = h("span", { class: "how" });
  #body = h("div", { class: "inside" });
  #live = h("pre", { class: "live", tabindex: 0, role: "group", "aria-label": "Output so far" });
  #details = h(
    "details",
    { ontoggle: () => this.#fill() },
    h("summary", {}, this.#mark, this.#tool, this.#title, this.#how),
    this.#body,
  );

  connectedCallback() {
    if (!this.#details.isConnected) put(this, this.#details);
  }

  /** @param {CallItem} call */
  update(call) {
    this.#call = call;
    const look = lookOf(call);
    attribute(this, "class", `call ${look}`);
    attribute(this, "data-call", call.id);
    attribute(this, "data-state", call.state);
    say(this.#mark, MARKS[look] ?? "");
    say(this.#tool, call.tool);
    say(this.#title, call.summary);
    const took = call.result && call.seqs.started > 0 ? `, ${lasting(call.result.duration_ms)}` : "";
    say(this.#how, outcomeOf(call) + took);
    // Output is shown as it comes. Nothing is closed again under the reader's eyes.
    if (call.state === "running" && call.output.text !== "" && !this.#isOpened) {
      this.#isOpened = true;
      this.#details.open = true;
    }
    this.#fill();
  }

  #fill() {
    const call = this.#call;
    if (!call || !this.#details.open) return;
    const isLive = call.state === "running";
    if (isLive && this.#state === "running") {
      this.#tail(call);
      return;
    }
    const state = `${call.state}${call.resolved ? "+" : ""}`;
    if (state === this.#state) return;
    this.#state = state;
    fill(this.#body, ...before(call));
    if (isLive) {
      put(this.#body, this.#live);
      this.#tail(call);
    }
    if (call.result) put(this.#body, ...after(call));
  }

  /** @param {CallItem} call */
  #tail(call) {
    const isAtEnd = this.#live.scrollHeight - this.#live.scrollTop - this.#live.clientHeight < 40;
    const missed = call.missed > 0 ? `… ${call.missed} bytes before\n` : "";
    say(this.#live, missed + call.output.text);
    this.#live.hidden = call.output.text === "";
    if (isAtEnd) this.#live.scrollTop = this.#live.scrollHeight;
  }
}

/**
 * What is known before it ran.
 * @param {CallItem} call
 * @returns {Node[]}
 */
function before(call) {
  /** @type {Node[]} */
  const nodes = [];
  const command = field(call.input, "command");
  if (command !== null) nodes.push(plain(command, "Command"));
  else if (call.input && !isDiff(call)) {
    nodes.push(plain(JSON.stringify(call.input, null, 2), "Arguments"));
  }
  if (call.resolved) {
    const { by, outcome, reason, denied } = call.resolved;
    const said = denied.includes(call.id) ? "denied" : outcome === "unanswered" ? "not answered" : "approved";
    const words = `${said === "not answered" ? said : `${said} by ${by}`}${reason ? `: “${reason}”` : ""}`;
    nodes.push(h("p", { class: "quiet" }, words.charAt(0).toUpperCase() + words.slice(1)));
  } else if (call.reason && call.state !== "received") {
    nodes.push(h("p", { class: "quiet" }, call.reason));
  }
  return nodes;
}

/**
 * What came of it.
 * @param {CallItem} call
 * @returns {Node[]}
 */
function after(call) {
  const result = call.result;
  if (!result) return [];
  if (isDiff(call)) {
    const diff = document.createElement("tg-diff");
    const lines = (result.display ?? "").split("\n");
    const from = lines.findIndex((line) => line.startsWith("--- "));
    /** @type {import("./diff.js").Diff} */ (diff).text = lines.slice(from).join("\n");
    return [diff];
  }
  const nodes = [plain(result.result === "" ? "(no output)" : result.result, "Result")];
  if (result.truncated) {
    const handle = result.output_handle ? ` The model can read it as ${result.output_handle}.` : "";
    return [...nodes, h("p", { class: "quiet" }, `Parts of the output are left out here.${handle}`)];
  }
  return nodes;
}

/** @param {CallItem} call */
function isDiff(call) {
  const display = call.result?.kind ? "" : (call.result?.display ?? "");
  return display.includes("\n--- ") && read(display) !== null;
}

/**
 * @param {unknown} input
 * @param {string} name
 * @returns {string | null}
 */
function field(input, name) {
  const value = /** @type {Record<string, unknown> | null} */ (input)?.[name];
  return typeof value === "string" ? value : null;
}

customElements.define("tg-call", Call);
