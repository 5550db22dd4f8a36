/**
 * The frame of the page: navigation, the view that the address names, and keys.
 * @module
 */

import "./conversation.js";
import "./inbox.js";
import "./list.js";
import "./rules.js";
import "./settings.js";
import { RequestError, why } from "./api.js";
import { attribute, fill, h, put, say } from "./dom.js";
import { choice, field } from "./form.js";
import { help } from "./help.js";
import { store } from "./store.js";
import * as token from "./token.js";

/** @typedef {import("./composer.js").Composer} Composer */
/** @typedef {import("./conversation.js").ConversationView} ConversationView */
/** @typedef {import("./types/http.js").NewConversation} NewConversation */

export class App extends HTMLElement {
  #main = h("main", { id: "main", tabindex: -1 });
  #side = h("aside", { class: "side", id: "side" });
  #count = h("span", { class: "count", hidden: true });
  #link = h("p", { class: "link", role: "status" });
  #menu = h("button", { type: "button", class: "plain menu", "aria-expanded": "false", "aria-controls": "side", onclick: () => this.#toggle() }, "Menu");
  #menuCount = h("a", { href: "#/inbox", class: "count", hidden: true });

  async connectedCallback() {
    if (!token.take()) {
      this.#ask("");
      return;
    }
    try {
      await store.start();
    } catch (error) {
      const isRefused = error instanceof RequestError && error.status === 401;
      this.#ask(isRefused ? "This token is not valid here. A server that was started again has a new one." : why(error));
      return;
    }
    this.#open();
  }

  /**
   * Asks for a token.
   * @param {string} problem
   */
  #ask(problem) {
    document.title = "Toolgate";
    const input = h("input", { id: "token", type: "password", autocomplete: "off", required: true });
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      token.keep(input.value.trim().replace(/^.*#token=/, ""));
      location.reload();
    };
    fill(
      this,
      h(
        "main",
        { class: "alone" },
        h("h1", {}, "Toolgate"),
        problem !== "" && h("p", { class: "warn", role: "alert" }, problem),
        h("p", {}, "Open the link that ", h("code", {}, "toolgate serve"), " printed, or paste it here."),
        h("form", { onsubmit: submit }, field("Link or token", input), h("button", { type: "submit", class: "main" }, "Open")),
      ),
    );
    input.focus();
  }

  #open() {
    put(
      this.#side,
      h(
        "nav",
        { "aria-label": "Main" },
        h("a", { href: "#/", class: "new" }, "New conversation"),
        h("a", { href: "#/inbox" }, "Waiting for you", " ", this.#count),
        h("a", { href: "#/rules" }, "Rules"),
        h("a", { href: "#/settings" }, "Settings"),
      ),
      h("nav", { "aria-label": "Conversations" }, document.createElement("tg-list")),
      h("div", { class: "bottom" }, this.#link, h("button", { type: "button", class: "plain", onclick: help }, "Keys")),
    );
    fill(
      this,
      h("a", { href: "#main", class: "skip", onclick: (/** @type {Event} */ event) => this.#skip(event) }, "Skip to the content"),
      h("header", { class: "top" }, h("a", { href: "#/", class: "brand" }, "Toolgate"), this.#menuCount, this.#menu),
      h("div", { class: "frame" }, this.#side, this.#main),
      h("div", { id: "announced", class: "heard", "aria-live": "polite" }),
    );
    store.on("inbox", () => this.#counted());
    store.on("link", () => this.#linked());
    addEventListener("hashchange", () => this.#route());
    addEventListener("keydown", (event) => this.#key(event));
    this.#counted();
    this.#linked();
    this.#route();
  }

  /** @param {Event} event */
  #skip(event) {
    event.preventDefault();
    this.#main.focus();
  }

  #toggle() {
    const isOpen = this.#side.classList.toggle("open");
    attribute(this.#menu, "aria-expanded", String(isOpen));
  }

  #counted() {
    const total = store.inboxTotal;
    for (const count of [this.#count, this.#menuCount]) {
      count.hidden = total === 0;
      fill(count, total, h("span", { class: "heard" }, total === 1 ? " call waits for you" : " calls wait for you"));
    }
  }

  #linked() {
    const words = { open: "Connected", lost: "Connecting…", refused: "" };
    say(this.#link, words[store.link]);
    attribute(this.#link, "data-link", store.link);
    if (store.link === "refused") {
      this.#ask("The server refuses this token. One that was started again has a new link.");
    }
  }

  #route() {
    const [, view = "", id = "", tab = ""] = location.hash.split("/");
    this.#side.classList.remove("open");
    attribute(this.#menu, "aria-expanded", "false");
    for (const link of this.#side.querySelectorAll("nav:first-of-type a")) {
      attribute(link, "aria-current", link.getAttribute("href") === (location.hash || "#/") ? "page" : null);
    }
    if (view === "c" && id !== "") {
      const element = /** @type {ConversationView} */ (document.createElement("tg-conversation"));
      element.conversation = decodeURIComponent(id);
      element.tab = tab;
      fill(this.#main, element);
    } else if (view === "inbox" || view === "rules" || view === "settings") {
      fill(this.#main, document.createElement(`tg-${view}`));
      this.#main.querySelector("h1")?.focus();
    } else {
      this.#begin();
    }
  }

  /** The form of a new conversation. */
  #begin() {
    document.title = "New conversation – Toolgate";
    const places = store.me?.workspaces ?? [];
    const workspace = choice("workspace", [...places.map((path) => /** @type {[string, string]} */ ([path, path])), ["", "None: tools are off"]]);
    const trust = choice("trust", [
      ["", "As configured"],
      ["supervised", "Supervised: asks about everything"],
      ["guided", "Guided: asks about changes"],
      ["autonomous", "Autonomous: asks least"],
    ]);
    const names = ["provider", "model", "preset"].map((id) => h("input", { id, autocomplete: "off", placeholder: "As configured" }));
    const composer = /** @type {Composer} */ (document.createElement("tg-composer"));
    const problem = h("p", { class: "warn", role: "alert", hidden: true });
    const mayBegin = store.me?.role === "owner";
    composer.onsay = async (message) => {
      composer.update(true, false);
      try {
        const [provider, model, preset] = names.map((input) => input.value.trim() || null);
        const id = await store.begin(
          {
            ...(workspace.value === "" ? { without_workspace: true } : { workspace: workspace.value }),
            trust: trust.value || null,
            provider: provider ?? null,
            model: model ?? null,
            preset: preset ?? null,
          },
          message,
        );
        location.hash = `#/c/${encodeURIComponent(id)}`;
      } catch (error) {
        problem.hidden = false;
        say(problem, why(error));
        composer.update(false, true);
        composer.restore(message);
      }
    };
    const [provider, model, preset] = names;
    fill(
      this.#main,
      h(
        "div",
        { class: "begin" },
        h("h1", { tabindex: -1 }, "New conversation"),
        problem,
        composer,
        h(
          "details",
          { class: "options" },
          h("summary", {}, "Workspace, model and trust"),
          field("Workspace", workspace),
          field("Trust", trust),
          provider && field("Provider", provider),
          model && field("Model", model),
          preset && field("Preset", preset),
        ),
      ),
    );
    composer.update(false, mayBegin);
    if (mayBegin && !matchMedia("(pointer: coarse)").matches) composer.look();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!event.altKey || !event.shiftKey || event.ctrlKey || event.metaKey) return;
    const act = {
      KeyN: () => (location.hash = "#/"),
      KeyW: () => (location.hash = "#/inbox"),
      KeyJ: () => this.#step(1),
      KeyK: () => this.#step(-1),
      KeyS: () => this.#find(),
      KeyM: () => this.#main.querySelector("textarea")?.focus(),
      KeyQ: () => /** @type {import("./approval.js").Approval | null} */ (this.#main.querySelector("tg-approval"))?.look(),
      KeyX: () => this.#stop(),
      KeyH: () => help(),
    }[event.code];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #find() {
    if (!this.#side.checkVisibility()) this.#toggle();
    this.#side.querySelector("input")?.focus();
  }

  #stop() {
    const id = /^#\/c\/([^/]+)/.exec(location.hash)?.[1];
    if (id) store.cancel(decodeURIComponent(id));
  }

  /** @param {1 | -1} by */
  #step(by) {
    const ids = store.list.map((row) => `#/c/${encodeURIComponent(row.conversation_id)}`);
    const at = ids.findIndex((id) => location.hash.startsWith(id));
    const next = ids[at < 0 ? 0 : (at + by + ids.length) % ids.length];
    if (next) location.hash = next;
  }
}

customElements.define("tg-app", App);
