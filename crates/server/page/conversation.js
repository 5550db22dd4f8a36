/**
 * A conversation: what was said and done, its timeline and its journal.
 * @module
 */

import "./approval.js";
import "./call.js";
import "./composer.js";
import "./journal.js";
import "./timeline.js";
import { attribute, fill, h, keyed, put, say } from "./dom.js";
import { waiting } from "./frames.js";
import { show } from "./markdown.js";
import { store } from "./store.js";
import { undo } from "./undo.js";

/**
 * @typedef {import("./approval.js").Approval} Approval
 * @typedef {import("./call.js").Call} Call
 * @typedef {import("./composer.js").Composer} Composer
 * @typedef {import("./frames.js").AnswerItem} AnswerItem
 * @typedef {import("./frames.js").EndItem} EndItem
 * @typedef {import("./frames.js").Item} Item
 * @typedef {import("./frames.js").Turn} Turn
 */

/** The tabs, by the end of their address. */
const TABS = { "": "Conversation", timeline: "Timeline", journal: "Journal" };

export class ConversationView extends HTMLElement {
  /** Set both before it is shown. */
  conversation = "";
  tab = "";
  #off = () => {};
  #offList = () => {};
  #title = h("h1", { tabindex: -1 });
  #place = h("p", { class: "quiet place" });
  #turns = h("div", { class: "turns" });
  #unsent = h("div", { class: "turns" });
  #questions = h("div", { class: "questions" });
  #broken = h("div", { class: "broken", hidden: true, role: "status" });
  #scroller = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Messages" });
  #composer = /** @type {Composer} */ (document.createElement("tg-composer"));
  #isAtEnd = true;
  #sizes = new ResizeObserver(() => this.#stick());

  connectedCallback() {
    const id = this.conversation;
    this.#composer.of = id;
    this.#composer.onsay = (message) => {
      this.#isAtEnd = true;
      store.say(id, message);
    };
    this.#composer.onstop = () => store.cancel(id);
    const link = `#/c/${encodeURIComponent(id)}`;
    const tabs = Object.entries(TABS).map(([end, text]) => {
      const isHere = end === this.tab;
      const href = end === "" ? link : `${link}/${end}`;
      return h("a", { href, "aria-current": isHere ? "page" : null }, text);
    });
    fill(
      this,
      h("header", { class: "head" }, h("div", {}, this.#title, this.#place), h("nav", { "aria-label": "Views of the conversation", class: "tabs" }, ...tabs)),
      this.#scroller,
    );
    store.follow(id);
    this.#offList = store.on("list", () => this.#head());
    this.#head();
    if (this.tab === "timeline" || this.tab === "journal") {
      const view = document.createElement(`tg-${this.tab}`);
      Object.assign(view, { conversation: id });
      attribute(this.#scroller, "aria-label", TABS[this.tab]);
      put(this.#scroller, view);
      return;
    }
    put(this.#scroller, this.#turns, this.#unsent, this.#questions, this.#broken);
    put(this, h("div", { class: "foot" }, this.#composer));
    this.#scroller.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
      this.#isAtEnd = scrollHeight - scrollTop - clientHeight < 60;
    });
    this.#sizes.observe(this.#turns);
    this.#sizes.observe(this.#questions);
    this.#sizes.observe(this.#scroller);
    this.#off = store.on(`c:${id}`, () => this.#draw());
    this.#draw();
    if (!matchMedia("(pointer: coarse)").matches) this.#composer.look();
  }

  disconnectedCallback() {
    this.#off();
    this.#offList();
    this.#sizes.disconnect();
  }

  #stick() {
    if (this.#isAtEnd) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #head() {
    const row = store.list.find((one) => one.conversation_id === this.conversation);
    const said = store.follow(this.conversation).turns[0]?.items.find((item) => item.kind === "user");
    const words = row?.first_words ?? (said?.kind === "user" ? said.text : "") ?? "";
    const line = words.split("\n")[0] ?? "";
    say(this.#title, line === "" ? "Conversation" : line.length > 120 ? `${line.slice(0, 120)}…` : line);
    say(this.#place, row?.workspace ?? store.may(this.conversation)?.workspace ?? "");
    document.title = `${line || "Conversation"} – Toolgate`;
  }

  #draw() {
    const conversation = store.follow(this.conversation);
    const may = store.may(this.conversation);
    this.#head();
    keyed(
      this.#turns,
      conversation.turns,
      (turn) => `${turn.number}/${turn.began}`,
      (turn) => h("section", { class: "turn" }, h("h2", { class: "heard" }, turn.number ? `Turn ${turn.number}` : "Before"), h("div")),
      (section, turn) => this.#turn(section, turn),
    );
    keyed(
      this.#unsent,
      store.unsent(this.conversation).map((text, at) => ({ text, at })),
      ({ text, at }) => `${at}${text}`,
      ({ text }) => h("div", { class: "user unsent" }, h("p", { class: "who" }, "You, not sent yet"), h("div", { class: "text" }, text)),
    );
    const hadFocus = this.#questions.contains(document.activeElement);
    keyed(
      this.#questions,
      [...waiting(conversation)],
      ([id]) => id,
      () => /** @type {Approval} */ (document.createElement("tg-approval")),
      (card, [, calls]) => (card.question = calls),
    );
    if (hadFocus && !this.#questions.contains(document.activeElement)) {
      const next = this.#questions.querySelector("tg-approval");
      if (next) /** @type {Approval} */ (next).look();
      else this.#composer.look();
    }
    this.#interrupted(conversation.state === "interrupted");
    this.#composer.update(conversation.state === "running", may?.may_write ?? true);
    attribute(this, "data-state", conversation.state);
    attribute(this, "data-seq", conversation.seq);
  }

  /** @param {boolean} is */
  #interrupted(is) {
    if (this.#broken.hidden === !is) return;
    this.#broken.hidden = !is;
    if (!is) return;
    const resume = (/** @type {"keep" | "discard"} */ choice) => () => store.resume(this.conversation, choice);
    fill(
      this.#broken,
      h("p", {}, "The server was interrupted in this turn. Nothing runs again by itself."),
      h("button", { type: "button", onclick: resume("keep") }, "Go on with what is known"),
      h("button", { type: "button", onclick: resume("discard") }, "Discard what was begun"),
    );
  }

  /**
   * @param {HTMLElement} section
   * @param {Turn} turn
   */
  #turn(section, turn) {
    // A turn that is over does not change any more; calls after it belong to an undo.
    const version = `${turn.items.length}/${turn.ended}/${turn.items.filter((item) => item.kind === "call" && item.state !== "finished").length}`;
    if (turn.ended > 0 && section.dataset["version"] === version) return;
    section.dataset["version"] = version;
    const place = section.lastElementChild;
    if (!place) return;
    keyed(
      place,
      turn.items,
      (item) => item.key,
      (item) => this.#item(item),
      (element, item) => {
        if (item.kind === "call") /** @type {Call} */ (element).update(item);
        else if (item.kind === "answer") answer(element, item);
      },
    );
  }

  /**
   * @param {Item} item
   * @returns {HTMLElement}
   */
  #item(item) {
    switch (item.kind) {
      case "user":
        return h("div", { class: "user" }, h("p", { class: "who" }, "You"), h("div", { class: "text" }, item.text));
      case "answer":
        return h("div", { class: "answer" }, h("p", { class: "who" }, "Model"), h("div", {}), h("div", { class: "prose" }));
      case "call":
        return document.createElement("tg-call");
      case "note":
        return h("p", { class: "warn", role: "alert" }, item.text);
      case "end":
        return this.#end(item);
    }
  }

  /**
   * @param {EndItem} item
   * @returns {HTMLElement}
   */
  #end({ end }) {
    const words = {
      done: "Finished",
      cancelled: "Stopped",
      failed: "Failed",
      results_wanted: "Waits for results",
      max_iterations: "Stopped: too many rounds",
    };
    const outcome = words[/** @type {keyof typeof words} */ (end.outcome)] ?? end.outcome;
    const link = `#/c/${encodeURIComponent(this.conversation)}`;
    return h(
      "div",
      { class: `end ${end.outcome}` },
      h("span", {}, outcome, tokens(end.usage)),
      end.error && h("span", { class: "warn" }, end.error),
      h("a", { href: `${link}/timeline` }, "Timeline"),
      store.may(this.conversation)?.may_write !== false &&
        h("button", { type: "button", class: "plain", onclick: () => void undo(this.conversation, { turn: end.turn }) }, "Undo…"),
    );
  }
}

/**
 * @param {Element} element
 * @param {AnswerItem} item
 */
function answer(element, item) {
  const [, thinking, prose] = element.children;
  if (!thinking || !prose) return;
  attribute(element, "aria-busy", item.done ? null : "true");
  attribute(element, "class", `answer${item.stop === "withdrawn" ? " withdrawn" : ""}${item.done ? "" : " coming"}`);
  attribute(element, "hidden", item.done && item.text.text === "" && item.thinking.text === "");
  if (item.thinking.text !== "") {
    if (!thinking.firstChild) {
      put(thinking, h("details", { class: "thinking" }, h("summary", {}, "Thinking"), h("div", { class: "text" })));
    }
    const place = thinking.querySelector(".text");
    if (place) say(place, item.thinking.text);
  }
  show(prose, item.text.text);
}

/**
 * @param {unknown} usage
 * @returns {string}
 */
function tokens(usage) {
  const counts = /** @type {Record<string, unknown> | null} */ (usage);
  const input = counts?.["input_tokens"];
  const output = counts?.["output_tokens"];
  if (typeof input !== "number" || typeof output !== "number") return "";
  return ` · ${input.toLocaleString()} tokens in, ${output.toLocaleString()} out`;
}

customElements.define("tg-conversation", ConversationView);
