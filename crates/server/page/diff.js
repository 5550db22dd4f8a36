/**
 * Differences as a table: side by side where there is space, else one below the other.
 * @module
 */

import { fill, h } from "./dom.js";
import { plain } from "./markdown.js";

/**
 * @typedef {object} Row
 * @property {"same" | "changed" | "head" | "file"} kind
 * @property {number | null} oldNumber
 * @property {string | null} oldText
 * @property {number | null} newNumber
 * @property {string | null} newText
 */

/** So wide has a table to be for two columns. */
const WIDE = 760;

/**
 * Reads what a call shows of its changes: unified differences, or new files whole.
 * @param {string} text
 * @returns {Row[] | null} nothing where it is another text
 */
export function read(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  if (/^new file .*, \d+ lines?$/.test(lines[0] ?? "")) return created(lines);
  /** @type {Row[]} */
  const rows = [];
  let at = 0;
  let isDiff = false;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk) {
      isDiff = true;
      rows.push(head("head", line));
      at = readHunk(lines, at + 1, hunk, rows);
    } else if (line.startsWith("--- ") && (lines[at + 1] ?? "").startsWith("+++ ")) {
      rows.push(head("file", (lines[at + 1] ?? "").slice(4)));
      at += 2;
    } else {
      if (line !== "") rows.push(head("file", line));
      at += 1;
    }
  }
  return isDiff ? rows : null;
}

/**
 * @param {"head" | "file"} kind
 * @param {string} text
 * @returns {Row}
 */
const head = (kind, text) => ({ kind, oldNumber: null, oldText: text, newNumber: null, newText: text });

/**
 * @param {string[]} lines
 * @returns {Row[]}
 */
function created(lines) {
  const rows = lines.slice(1).map(
    /** @returns {Row} */
    (text, at) => ({ kind: "changed", oldNumber: null, oldText: null, newNumber: at + 1, newText: text }),
  );
  return [head("file", lines[0] ?? ""), ...rows];
}

/**
 * Reads as many lines as the head of the hunk says, so that a removed `-- x` is no head of a file.
 * @param {string[]} lines
 * @param {number} from
 * @param {RegExpExecArray} hunk
 * @param {Row[]} rows
 * @returns {number} where it ended
 */
function readHunk(lines, from, hunk, rows) {
  let oldNumber = Number(hunk[1]);
  let newNumber = Number(hunk[3]);
  let oldLeft = Number(hunk[2] ?? 1);
  let newLeft = Number(hunk[4] ?? 1);
  /** @type {Row[]} */
  let removed = [];
  let at = from;
  for (; at < lines.length && (oldLeft > 0 || newLeft > 0); at += 1) {
    const line = lines[at] ?? "";
    const text = line.slice(1);
    if (line.startsWith("-")) {
      const row = /** @type {Row} */ ({
        kind: "changed", oldNumber, oldText: text, newNumber: null, newText: null,
      });
      rows.push(row);
      removed.push(row);
      oldNumber += 1;
      oldLeft -= 1;
    } else if (line.startsWith("+")) {
      const pair = removed.shift();
      if (pair) Object.assign(pair, { newNumber, newText: text });
      else rows.push({ kind: "changed", oldNumber: null, oldText: null, newNumber, newText: text });
      newNumber += 1;
      newLeft -= 1;
    } else if (line.startsWith("\\")) {
      rows.push(head("head", line));
    } else {
      removed = [];
      rows.push({ kind: "same", oldNumber, oldText: text, newNumber, newText: text });
      oldNumber += 1;
      newNumber += 1;
      oldLeft -= 1;
      newLeft -= 1;
    }
  }
  if ((lines[at] ?? "").startsWith("\\")) {
    rows.push(head("head", lines[at] ?? ""));
    at += 1;
  }
  return at;
}

/** A difference, or text where it is none. Set `text` before it is shown. */
export class Diff extends HTMLElement {
  #text = "";
  /** @type {boolean | null} */
  #isWide = null;
  #sizes = new ResizeObserver(([entry]) => this.#fit(entry?.contentRect.width ?? 0));

  /** @param {string} text */
  set text(text) {
    if (text === this.#text) return;
    this.#text = text;
    this.#isWide = null;
    if (this.isConnected) this.#fit(this.clientWidth);
  }

  connectedCallback() {
    this.#fit(this.clientWidth);
    this.#sizes.observe(this);
  }

  disconnectedCallback() {
    this.#sizes.disconnect();
  }

  /** @param {number} width */
  #fit(width) {
    const isWide = width >= WIDE;
    if (isWide === this.#isWide) return;
    this.#isWide = isWide;
    const rows = read(this.#text);
    if (!rows) fill(this, plain(this.#text, "What changes"));
    else fill(this, h("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Changes" }, drawn(rows, isWide)));
  }
}

/**
 * @param {Row[]} rows
 * @param {boolean} isWide
 * @returns {HTMLTableElement}
 */
function drawn(rows, isWide) {
  const head = isWide
    ? ["Line before", "Before", "Line after", "After"]
    : ["Line before", "Line after", "Text"];
  return h(
    "table",
    { class: isWide ? "diff split" : "diff" },
    h("caption", { class: "heard" }, "Changes"),
    h("colgroup", {}, ...head.map((text) => h("col", { class: text.startsWith("Line") ? "number" : "" }))),
    h("thead", { class: "heard" }, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...(isWide ? rows.map(split) : unified(rows))),
  );
}

/**
 * Removed lines stand before the added ones, as in a unified difference.
 * @param {Row[]} rows
 * @returns {Node[]}
 */
function unified(rows) {
  /** @type {Node[]} */
  const lines = [];
  /** @type {Node[]} */
  let added = [];
  for (const row of rows) {
    if (row.kind !== "changed" || row.oldText === null) {
      if (row.kind !== "changed") lines.push(...added.splice(0));
      if (row.kind === "changed") added.push(line("added", null, row.newNumber, row.newText ?? ""));
      else if (row.kind === "same") lines.push(line("", row.oldNumber, row.newNumber, row.oldText ?? ""));
      else lines.push(across(row, 3));
      continue;
    }
    lines.push(line("removed", row.oldNumber, null, row.oldText));
    if (row.newText !== null) added.push(line("added", null, row.newNumber, row.newText));
  }
  return [...lines, ...added];
}

/**
 * @param {"" | "added" | "removed"} kind
 * @param {number | null} oldNumber
 * @param {number | null} newNumber
 * @param {string} text
 * @returns {Node}
 */
function line(kind, oldNumber, newNumber, text) {
  return h(
    "tr",
    { class: kind },
    h("td", { class: "number" }, oldNumber),
    h("td", { class: "number" }, newNumber),
    cell(kind, text),
  );
}

/**
 * @param {Row} row
 * @returns {Node}
 */
function split(row) {
  if (row.kind === "head" || row.kind === "file") return across(row, 4);
  const isSame = row.kind === "same";
  return h(
    "tr",
    {},
    h("td", { class: "number" }, row.oldNumber),
    cell(isSame || row.oldText === null ? "" : "removed", row.oldText),
    h("td", { class: "number" }, row.newNumber),
    cell(isSame || row.newText === null ? "" : "added", row.newText),
  );
}

/**
 * @param {"" | "added" | "removed"} kind
 * @param {string | null} text
 * @returns {Node}
 */
function cell(kind, text) {
  if (text === null) return h("td", { class: "none" });
  const sign = kind === "added" ? "+" : kind === "removed" ? "−" : " ";
  return h(
    "td",
    { class: `text ${kind}` },
    h("span", { class: "sign", "aria-hidden": "true" }, sign),
    kind && h("span", { class: "heard" }, `${kind}: `),
    text,
  );
}

/**
 * @param {Row} row
 * @param {number} columns
 * @returns {Node}
 */
const across = (row, columns) =>
  h("tr", { class: row.kind === "head" ? "hunk" : "file" }, h("td", { colspan: columns }, row.newText));

customElements.define("tg-diff", Diff);
