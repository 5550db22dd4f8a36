/**
 * The journal of a conversation: every entry, searched, with undo for what calls did.
 * @module
 */

import { get, of, why } from "./api.js";
import { fill, h, keyed, moment, say } from "./dom.js";
import { plain } from "./markdown.js";
import { store } from "./store.js";
import { undo } from "./undo.js";

/**
 * @typedef {import("./types/http.js").EntryList} EntryList
 * @typedef {import("./types/http.js").EntryRow} EntryRow
 */

/** Tools whose effects an undo can take back. */
const UNDOABLE = new Set(["write_file", "edit_file", "apply_patch"]);

/** So many entries are shown at once. */
const PAGE = 200;

export class Journal extends HTMLElement {
  /** The conversation; set before it is shown. */
  conversation = "";
  /** @type {EntryRow[]} */
  #entries = [];
  #most = PAGE;
  #isReading = false;
  #off = () => {};
  #search = h("input", { type: "search", id: "entry-search", placeholder: "Kind, call or words", oninput: () => this.#draw() });
  #count = h("p", { class: "quiet", role: "status" });
  #list = h("ol", { class: "entries" });
  #more = h("button", { type: "button", hidden: true, onclick: () => this.#further() }, "Show more");

  connectedCallback() {
    const everything = h("button", { type: "button", onclick: () => void undo(this.conversation, {}) }, "Undo everything…");
    fill(
      this,
      h(
        "div",
        { class: "bar" },
        h("label", { for: "entry-search" }, "Search entries"),
        this.#search,
        store.may(this.conversation)?.may_write !== false && everything,
        this.#count,
      ),
      this.#list,
      this.#more,
    );
    this.#off = store.on(`c:${this.conversation}`, () => void this.#read());
    void this.#read();
  }

  disconnectedCallback() {
    this.#off();
  }

  #further() {
    this.#most += PAGE;
    this.#draw();
  }

  async #read() {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      for (;;) {
        const after = this.#entries.at(-1)?.seq ?? 0;
        /** @type {EntryList} */
        const read = await get(of(this.conversation, `/entries?bodies=true&limit=200&after=${after}`));
        this.#entries.push(...read.entries);
        if (!read.more || !this.isConnected) break;
      }
      this.#draw();
    } catch (error) {
      say(this.#count, why(error));
    } finally {
      this.#isReading = false;
    }
  }

  #draw() {
    const words = this.#search.value.trim().toLowerCase();
    const found = this.#entries.filter((entry) => words === "" || text(entry).includes(words));
    const shown = found.slice(0, this.#most);
    say(this.#count, words === "" ? `${found.length} entries` : `${found.length} of ${this.#entries.length} entries`);
    keyed(this.#list, shown, (entry) => String(entry.seq), (entry) => this.#row(entry));
    this.#more.hidden = found.length <= shown.length;
  }

  /**
   * @param {EntryRow} entry
   * @returns {HTMLElement}
   */
  #row(entry) {
    const details = h("details", {
      ontoggle: () => {
        if (details.open && details.childElementCount === 1) {
          details.append(plain(JSON.stringify(entry.body ?? null, null, 2), `Entry ${entry.seq}`), h("p", { class: "quiet hash" }, `hash ${entry.hash}`));
        }
      },
    });
    details.append(
      h(
        "summary",
        {},
        h("span", { class: "number" }, entry.seq),
        h("time", { datetime: new Date(entry.at_ms).toISOString(), title: new Date(entry.at_ms).toLocaleString() }, moment(entry.at_ms)),
        h("span", { class: "kind" }, entry.kind.replaceAll("_", " ")),
        h("span", { class: "title" }, title(entry)),
      ),
    );
    const changed = entry.kind === "finished" && UNDOABLE.has(pick(entry.body, "result", "tool")) && pick(entry.body, "result", "status") === "ok";
    const back = () => void undo(this.conversation, { call: entry.tool_id });
    return h("li", { "data-seq": entry.seq }, details, changed && h("button", { type: "button", class: "plain", onclick: back, "aria-label": `Undo ${title(entry)}` }, "Undo…"));
  }
}

/**
 * @param {EntryRow} entry
 * @returns {string}
 */
const text = (entry) => `${entry.seq} ${entry.kind} ${entry.tool_id} ${JSON.stringify(entry.body ?? "")}`.toLowerCase();

/**
 * What an entry says, in a line.
 * @param {EntryRow} entry
 * @returns {string}
 */
function title(entry) {
  const body = entry.body;
  const said = [
    pick(body, "text"),
    pick(body, "plan", "summary"),
    pick(body, "result", "display"),
    pick(body, "call", "name"),
    pick(body, "outcome"),
    pick(body, "reason"),
    pick(body, "model"),
  ].find((one) => one !== "");
  const line = (said ?? entry.tool_id).split("\n")[0] ?? "";
  return line.length > 140 ? `${line.slice(0, 140)}…` : line;
}

/**
 * @param {unknown} value
 * @param {...string} path
 * @returns {string}
 */
function pick(value, ...path) {
  let at = value;
  for (const name of path) at = /** @type {Record<string, unknown> | null | undefined} */ (at)?.[name];
  return typeof at === "string" ? at : "";
}

customElements.define("tg-journal", Journal);
