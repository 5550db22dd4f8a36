/**
 * Everything that waits for an answer, of all conversations.
 * @module
 */

import "./approval.js";
import { fill, h, keyed, say } from "./dom.js";
import { store } from "./store.js";

/**
 * @typedef {import("./approval.js").Approval} Approval
 * @typedef {import("./types/frames.js").Confirm} Confirm
 */

export class Inbox extends HTMLElement {
  #off = () => {};
  #title = h("h1", { tabindex: -1 }, "Waiting for you");
  #count = h("p", { class: "quiet", role: "status" });
  #cards = h("div", { class: "questions" });

  connectedCallback() {
    const scroller = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Questions" }, this.#cards);
    fill(this, h("header", { class: "head" }, h("div", {}, this.#title, this.#count)), scroller);
    this.#off = store.on("inbox", () => this.#draw());
    this.#draw();
    document.title = "Waiting for you – Toolgate";
  }

  disconnectedCallback() {
    this.#off();
  }

  #draw() {
    /** @type {Map<string, Confirm[]>} */
    const questions = new Map();
    for (const confirm of store.inbox) {
      questions.set(confirm.approval_id, [...(questions.get(confirm.approval_id) ?? []), confirm]);
    }
    const hadFocus = this.#cards.contains(document.activeElement);
    keyed(
      this.#cards,
      [...questions],
      ([id]) => id,
      () => {
        const card = /** @type {Approval} */ (document.createElement("tg-approval"));
        card.isLinked = true;
        return card;
      },
      (card, [, calls]) => (card.question = calls),
    );
    if (hadFocus && !this.#cards.contains(document.activeElement)) {
      const next = this.#cards.querySelector("tg-approval");
      if (next) /** @type {Approval} */ (next).look();
      else this.#title.focus();
    }
    const total = store.inboxTotal;
    const more = total > store.inbox.length ? `, the first ${store.inbox.length} are shown` : "";
    say(this.#count, total === 0 ? "Nothing waits." : `${total} ${total === 1 ? "call waits" : "calls wait"}${more}.`);
  }
}

customElements.define("tg-inbox", Inbox);
