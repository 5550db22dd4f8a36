/**
 * The timeline of a turn: a picture, and the same as a table.
 * @module
 */

import { get, of } from "./api.js";
import { attribute, fill, h, keyed, lasting, put, say, svg } from "./dom.js";
import { spansOf, ticks, total } from "./spans.js";
import { store } from "./store.js";

/**
 * @typedef {import("./types/http.js").EntryList} EntryList
 * @typedef {import("./frames.js").Turn} Turn
 * @typedef {import("./spans.js").Bar} Bar
 * @typedef {import("./spans.js").Span} Span
 * @typedef {import("./spans.js").Spans} Spans
 */

/** The height of a bar with its label. */
const ROW = 44;
const AXIS = 22;

const WORDS = { waiting: "waiting", person: "waiting for you", running: "running" };

export class Timeline extends HTMLElement {
  /** @type {Map<number, number>} */
  #times = new Map();
  #known = 0;
  /** The clock of the server less the one here. */
  #ahead = 0;
  #isReading = false;
  /** The turn that was chosen; the last one otherwise. @type {number | null} */
  #chosen = null;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #growing;
  #off = () => {};
  #select = h("select", { id: "turn", onchange: () => this.#choose() });
  #picture = svg("svg", { role: "img", "aria-labelledby": "timeline-title", class: "timeline" });
  #title = svg("title", { id: "timeline-title" });
  #axis = svg("g", { class: "axis" });
  #bars = svg("g");
  #body = h("tbody");
  #empty = h("p", { class: "quiet" }, "No turn yet.");
  #content = h("div", { hidden: true });

  connectedCallback() {
    put(this.#picture, this.#title, pattern(), this.#axis, this.#bars);
    const legend = h(
      "ul",
      { class: "legend", "aria-label": "Colours" },
      ...Object.entries(WORDS).map(([state, words]) =>
        h("li", {}, svg("svg", { viewBox: "0 0 14 10", "aria-hidden": "true" }, svg("rect", { class: state, width: 14, height: 10, rx: 2 })), words),
      ),
    );
    const head = ["Step", "Waiting", "Waiting for you", "Running", "Result"];
    fill(
      this.#content,
      h("div", { class: "bar" }, h("label", { for: "turn" }, "Turn"), this.#select, legend),
      this.#picture,
      h(
        "div",
        { class: "wide", tabindex: 0, role: "group", "aria-label": "The same as a table" },
        h(
          "table",
          {},
          h("caption", { class: "heard" }, "Timeline of the turn"),
          h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
          this.#body,
        ),
      ),
    );
    fill(this, this.#empty, this.#content);
    this.#off = store.on(`c:${this.conversation}`, () => void this.#read());
    this.#growing = setInterval(() => this.#grow(), 250);
    void this.#read();
  }

  disconnectedCallback() {
    this.#off();
    clearInterval(this.#growing);
  }

  /** The conversation; set before it is shown. */
  conversation = "";

  #choose() {
    this.#chosen = Number(this.#select.value);
    this.#draw();
  }

  /** Reads when the entries were written that are new. */
  async #read() {
    const { seq } = store.follow(this.conversation);
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#known < seq) {
        const before = this.#known;
        /** @type {EntryList} */
        const read = await get(of(this.conversation, `/entries?after=${before}`));
        this.#ahead = read.now_ms - Date.now();
        for (const entry of read.entries) {
          this.#times.set(entry.seq, entry.at_ms);
          this.#known = entry.seq;
        }
        if (this.#known === before) break;
      }
    } catch {
      // Until the connection is back, the clock of this machine counts.
    } finally {
      this.#isReading = false;
    }
    if (this.isConnected) this.#draw();
  }

  #grow() {
    const turn = this.#turn();
    if (turn && turn.ended === 0 && store.follow(this.conversation).state === "running") this.#draw();
  }

  /** @returns {Turn | undefined} */
  #turn() {
    const { turns } = store.follow(this.conversation);
    const chosen = turns.find((turn) => turn.number === this.#chosen);
    return chosen ?? turns.filter((turn) => turn.began > 0).at(-1);
  }

  #draw() {
    const { turns, times } = store.follow(this.conversation);
    const turn = this.#turn();
    this.#empty.hidden = turn !== undefined;
    this.#content.hidden = turn === undefined;
    if (!turn) return;
    keyed(
      this.#select,
      turns.filter((one) => one.began > 0),
      (one) => String(one.number),
      (one) => h("option", { value: one.number }, one.number),
    );
    this.#select.value = String(turn.number);
    const at = (/** @type {number} */ seq) => {
      const here = times.get(seq);
      return this.#times.get(seq) ?? (here === undefined ? undefined : here + this.#ahead);
    };
    const spans = spansOf(turn, at, Date.now() + this.#ahead);
    this.#paint(spans, turn);
    this.#tabulate(spans);
  }

  /**
   * @param {Spans} spans
   * @param {Turn} turn
   */
  #paint(spans, turn) {
    const length = spans.to - spans.from;
    const calls = spans.bars.length - 1;
    const height = AXIS + spans.bars.length * ROW;
    const summary = `Turn ${turn.number}: ${lasting(length)}, ${calls} ${calls === 1 ? "call" : "calls"}${spans.isOpen ? ", running" : ""}`;
    say(this.#title, summary);
    attribute(this.#picture, "height", height);
    attribute(this.#picture, "data-open", spans.isOpen);
    const most = Math.max(2, Math.floor(this.clientWidth / 110));
    const part = (/** @type {number} */ ms) => `${((100 * ms) / length).toFixed(3)}%`;
    keyed(
      this.#axis,
      ticks(length, most).filter((ms) => ms < 0.93 * length),
      (ms) => String(ms),
      () => svg("g", {}, svg("line", { y1: AXIS - 4 }), svg("text", { y: 12 })),
      (mark, ms) => {
        const [line, text] = mark.children;
        if (!line || !text) return;
        attribute(line, "x1", part(ms));
        attribute(line, "x2", part(ms));
        attribute(line, "y2", height);
        attribute(text, "x", part(ms));
        say(text, lasting(ms));
      },
    );
    keyed(
      this.#bars,
      spans.bars.map((bar, at) => ({ bar, at })),
      ({ bar }) => bar.key,
      () => svg("g", {}, svg("text"), svg("g")),
      (group, { bar, at }) => {
        const [label, places] = group.children;
        if (!label || !places) return;
        const top = AXIS + at * ROW;
        attribute(label, "x", 0);
        attribute(label, "y", top + 16);
        say(label, bar.label.length > 90 ? `${bar.label.slice(0, 90)}…` : bar.label);
        this.#paintSpans(places, bar, top + 22, spans.from, part, length / 400);
      },
    );
  }

  /**
   * @param {Element} places
   * @param {Bar} bar
   * @param {number} top
   * @param {number} from
   * @param {(ms: number) => string} part
   * @param {number} least what can still be seen
   */
  #paintSpans(places, bar, top, from, part, least) {
    keyed(
      places,
      bar.spans.map((span, at) => ({ span, at })),
      ({ span, at }) => `${at}${span.state}`,
      ({ span }) => svg("rect", { class: span.state, height: 14, rx: 3 }, svg("title")),
      (rect, { span }) => {
        attribute(rect, "x", part(span.from - from));
        attribute(rect, "y", top);
        attribute(rect, "width", part(Math.max(least, span.to - span.from)));
        attribute(rect, "data-open", span.isOpen);
        const tip = rect.firstElementChild;
        if (tip) say(tip, `${WORDS[span.state]}: ${lasting(span.to - span.from)}`);
      },
    );
  }

  /** @param {Spans} spans */
  #tabulate(spans) {
    keyed(
      this.#body,
      spans.bars,
      (bar) => bar.key,
      () => h("tr", {}, h("th", { scope: "row" }), h("td"), h("td"), h("td"), h("td")),
      (row, bar) => {
        const shown = (/** @type {Span["state"]} */ state) => {
          const is = bar.spans.some((span) => span.state === state);
          return is ? lasting(total(bar, state)) : "–";
        };
        const cells = [bar.label, shown("waiting"), shown("person"), shown("running"), bar.outcome];
        for (const [at, text] of cells.entries()) {
          const cell = row.children[at];
          if (cell) say(cell, text);
        }
      },
    );
  }
}

/** Stripes, so that waiting for the user is not told apart by colour alone. */
function pattern() {
  return svg(
    "defs",
    {},
    svg(
      "pattern",
      { id: "stripes", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { class: "ground", width: 7, height: 7 }),
      svg("rect", { class: "stripe", width: 3, height: 7 }),
    ),
  );
}

customElements.define("tg-timeline", Timeline);
