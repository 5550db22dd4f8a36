/**
 * The settings in force and where each comes from, and how the page looks.
 * @module
 */

import { get, why } from "./api.js";
import { fill, h, keyed, say } from "./dom.js";
import { choice, field, table } from "./form.js";
import { OPERATOR, store } from "./store.js";

/** @typedef {{layer?: string, file?: string | null, line?: number | null}} Origin */
/** @typedef {{key: string, value: unknown, origin: Origin}} Setting */

const LOOK = "toolgate-look";

/** Takes over how the page is to look. */
export function dress() {
  const look = localStorage.getItem(LOOK);
  if (look === "dark" || look === "light") document.documentElement.dataset["look"] = look;
  else delete document.documentElement.dataset["look"];
}

export class Settings extends HTMLElement {
  /** @type {Setting[]} */
  #settings = [];
  #search = h("input", { type: "search", id: "setting-search", placeholder: "Key, value or origin", oninput: () => this.#draw() });
  #count = h("p", { class: "quiet", role: "status" });
  #body = h("tbody");
  #ignored = h("div");
  #look = choice("look", [
    ["", "As the system"],
    ["light", "Light"],
    ["dark", "Dark"],
  ]);

  connectedCallback() {
    document.title = "Settings – Toolgate";
    this.#look.value = localStorage.getItem(LOOK) ?? "";
    this.#look.addEventListener("change", () => {
      localStorage.setItem(LOOK, this.#look.value);
      dress();
    });
    const { me } = store;
    fill(
      this,
      h("header", { class: "head" }, h("div", {}, h("h1", { tabindex: -1 }, "Settings"), h("p", { class: "quiet" }, `You are ${me?.name ?? ""} (${me?.role ?? ""}).`))),
      h(
        "div",
        { class: "scroller", tabindex: 0, role: "region", "aria-label": "Settings" },
        h("section", { class: "panel" }, h("h2", {}, "This page"), field("Colours", this.#look)),
        h(
          "section",
          { class: "panel" },
          h("h2", {}, "Settings in force"),
          h("div", { class: "bar" }, h("label", { for: "setting-search" }, "Search settings"), this.#search, this.#count),
          this.#ignored,
          table("Settings in force", ["Key", "Value", "From"], this.#body),
        ),
      ),
    );
    void this.#load();
  }

  async #load() {
    if (!store.me?.operator) {
      say(this.#count, OPERATOR);
      return;
    }
    try {
      /** @type {{settings: Setting[], ignored: string[]}} */
      const { settings, ignored } = await get("/api/settings");
      this.#settings = settings;
      if (ignored.length > 0) fill(this.#ignored, h("ul", { class: "warn" }, ...ignored.map((text) => h("li", {}, text))));
      this.#draw();
    } catch (error) {
      say(this.#count, why(error));
    }
  }

  #draw() {
    const words = this.#search.value.trim().toLowerCase();
    const rows = this.#settings
      .map(({ key, value, origin }, at) => ({ at, key, value: shown(value), from: from(origin) }))
      .filter(({ key, value, from }) => `${key} ${value} ${from}`.toLowerCase().includes(words));
    say(this.#count, `${rows.length} of ${this.#settings.length}`);
    keyed(
      this.#body,
      rows,
      (row) => String(row.at),
      (row) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, row.key)), h("td", {}, h("code", {}, row.value)), h("td", {}, row.from)),
    );
  }
}

/**
 * @param {unknown} value
 * @returns {string}
 */
const shown = (value) => (value === null ? "unset" : typeof value === "string" ? value : JSON.stringify(value));

/**
 * @param {Origin | string} origin
 * @returns {string}
 */
function from(origin) {
  if (typeof origin === "string") return origin;
  const place = [origin.file, origin.line].filter((one) => one !== undefined && one !== null).join(":");
  return [origin.layer, place].filter((one) => one).join(", ");
}

customElements.define("tg-settings", Settings);
