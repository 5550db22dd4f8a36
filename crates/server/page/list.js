/**
 * The conversations, with search.
 * @module
 */

import { attribute, fill, h, keyed, moment, say } from "./dom.js";
import { store } from "./store.js";

/** @typedef {import("./types/http.js").ConversationRow} Row */

export class List extends HTMLElement {
  #off = () => {};
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #search = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search conversations",
    "aria-label": "Search conversations",
    oninput: () => this.#typed(),
  });
  #list = h("ul");
  #none = h("p", { class: "quiet", role: "status" });

  connectedCallback() {
    fill(this, this.#search, this.#none, this.#list);
    this.#off = store.on("list", () => this.#draw());
    addEventListener("hashchange", this.#draw);
    this.#draw();
  }

  disconnectedCallback() {
    this.#off();
    removeEventListener("hashchange", this.#draw);
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      store.query = this.#search.value.trim();
      void store.refresh();
    }, 150);
  }

  #draw = () => {
    const here = /^#\/c\/([^/]+)/.exec(location.hash)?.[1];
    keyed(
      this.#list,
      store.list,
      (row) => row.conversation_id,
      (row) =>
        h(
          "li",
          {},
          h("a", { href: `#/c/${encodeURIComponent(row.conversation_id)}` }, h("span", { class: "words" }), h("span", { class: "state" }), h("time")),
        ),
      (element, row) => {
        const link = element.firstElementChild;
        const [words, state, time] = link?.children ?? [];
        if (!link || !words || !state || !time) return;
        attribute(link, "aria-current", here && decodeURIComponent(here) === row.conversation_id ? "page" : null);
        say(words, (row.first_words ?? row.conversation_id).slice(0, 160));
        say(state, row.waiting > 0 ? "waits for you" : row.busy ? "runs" : "");
        attribute(state, "class", `state${row.waiting > 0 ? " ask" : ""}`);
        say(time, moment(row.last_ms));
        attribute(time, "datetime", new Date(row.last_ms).toISOString());
      },
    );
    const none = store.query === "" ? "No conversation yet." : "Nothing found.";
    say(this.#none, store.list.length === 0 ? none : "");
  };
}

customElements.define("tg-list", List);
