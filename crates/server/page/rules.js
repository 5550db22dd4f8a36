/**
 * What the rules say about a call, what is wrong with them, and what is remembered.
 * @module
 */

import { get, post, remove, why } from "./api.js";
import { fill, h, moment } from "./dom.js";
import { choice, field, table } from "./form.js";
import { plain } from "./markdown.js";
import { OPERATOR, store } from "./store.js";

/**
 * @typedef {object} Explained
 * @property {"allow" | "ask" | "deny"} decision
 * @property {string} [kind]
 * @property {string} risk
 * @property {string} summary
 * @property {string} reason
 * @property {string} rule
 * @property {{layer: string, file?: string, line?: number}} [source]
 * @property {{atom: string, layer: string, rule: string, answer: string}[]} atoms
 * @property {unknown} facts
 */
/** @typedef {{name: string, description: string, input_schema: {properties?: Record<string, {type?: string}>, required?: string[]}}} Tool */
/** @typedef {{kind: string, mistake: boolean, rule: string, source: unknown, message: string}} Finding */
/** @typedef {{id: string, at_ms: number, grants: string}} Grant */

const DECISIONS = { allow: "Allowed", ask: "Asks you", deny: "Denied" };

export class Rules extends HTMLElement {
  /** @type {Tool[]} */
  #tools = [];
  #tool = choice("tool", []);
  #args = h("textarea", { id: "args", rows: 6, spellcheck: "false", class: "code" });
  #answer = h("div", { role: "status" });
  #findings = h("div");
  #grants = h("div");

  connectedCallback() {
    document.title = "Rules – Toolgate";
    this.#tool.addEventListener("change", () => this.#example());
    fill(
      this,
      h("header", { class: "head" }, h("div", {}, h("h1", { tabindex: -1 }, "Rules"), h("p", { class: "quiet" }, "What would be decided about a call, and why. Nothing runs."))),
      h(
        "div",
        { class: "scroller", tabindex: 0, role: "region", "aria-label": "Rules" },
        h(
          "form",
          { class: "panel", onsubmit: (/** @type {Event} */ event) => void this.#explain(event) },
          h("h2", {}, "Explain a call"),
          field("Tool", this.#tool),
          field("Arguments, as JSON", this.#args),
          h("button", { type: "submit", class: "main" }, "Explain"),
          this.#answer,
        ),
        h("section", { class: "panel" }, h("h2", {}, "Remembered approvals"), this.#grants),
        h("section", { class: "panel" }, h("h2", {}, "Check of the rules"), this.#findings),
      ),
    );
    void this.#load();
  }

  async #load() {
    if (!store.me?.operator) {
      fill(this, h("header", { class: "head" }, h("h1", { tabindex: -1 }, "Rules")), h("p", { class: "alone" }, OPERATOR));
      return;
    }
    try {
      /** @type {{tools: Tool[]}} */
      const { tools } = await get("/api/tools");
      this.#tools = tools;
      fill(this.#tool, ...tools.map((tool) => h("option", { value: tool.name }, tool.name)));
      if (tools.some((tool) => tool.name === "run_command")) this.#tool.value = "run_command";
      this.#example();
    } catch (error) {
      fill(this.#answer, h("p", { class: "warn" }, why(error)));
    }
    await Promise.all([this.#loadGrants(), this.#loadFindings()]);
  }

  /** Arguments to begin with. */
  #example() {
    const tool = this.#tools.find((one) => one.name === this.#tool.value);
    const required = tool?.input_schema.required ?? [];
    const value = (/** @type {string} */ name) => {
      const type = tool?.input_schema.properties?.[name]?.type;
      return type === "array" ? [] : type === "object" ? {} : type === "integer" || type === "number" ? 1 : type === "boolean" ? false : "";
    };
    this.#args.value = JSON.stringify(Object.fromEntries(required.map((name) => [name, value(name)])), null, 2);
  }

  /** @param {Event} event */
  async #explain(event) {
    event.preventDefault();
    /** @type {unknown} */
    let args;
    try {
      args = JSON.parse(this.#args.value || "{}");
    } catch (error) {
      fill(this.#answer, h("p", { class: "warn" }, `These arguments are not JSON: ${why(error)}`));
      return;
    }
    try {
      /** @type {Explained} */
      const said = await post("/api/policy/explain", { tool: this.#tool.value, args });
      fill(this.#answer, ...explained(said));
    } catch (error) {
      fill(this.#answer, h("p", { class: "warn" }, why(error)));
    }
  }

  async #loadGrants() {
    try {
      /** @type {{grants: Grant[]}} */
      const { grants } = await get("/api/grants");
      if (grants.length === 0) {
        fill(this.#grants, h("p", { class: "quiet" }, "Nothing is remembered for this project."));
        return;
      }
      const rows = grants.map((grant) =>
        h(
          "tr",
          {},
          h("td", {}, moment(grant.at_ms)),
          h("th", { scope: "row" }, grant.grants),
          h("td", {}, h("button", { type: "button", "aria-label": `Take back: ${grant.grants}`, onclick: () => void this.#revoke(grant.id) }, "Take back")),
        ),
      );
      fill(this.#grants, table("Remembered approvals", ["Since", "Allows", "Action"], h("tbody", {}, ...rows)));
    } catch (error) {
      fill(this.#grants, h("p", { class: "quiet" }, why(error)));
    }
  }

  /** @param {string} id */
  async #revoke(id) {
    try {
      await remove(`/api/grants/${encodeURIComponent(id)}`);
    } catch (error) {
      fill(this.#answer, h("p", { class: "warn" }, why(error)));
    }
    await this.#loadGrants();
  }

  async #loadFindings() {
    try {
      /** @type {{findings: Finding[]}} */
      const { findings } = await get("/api/policy/check");
      if (findings.length === 0) {
        fill(this.#findings, h("p", { class: "quiet" }, "Every example holds, and every rule can match."));
        return;
      }
      fill(this.#findings, h("ul", {}, ...findings.map((one) => h("li", { class: one.mistake ? "warn" : "" }, `${one.rule}: ${one.message}`))));
    } catch (error) {
      fill(this.#findings, h("p", { class: "quiet" }, why(error)));
    }
  }
}

/**
 * @param {Explained} said
 * @returns {Node[]}
 */
function explained(said) {
  const { source } = said;
  const place = source ? [source.layer, source.file, source.line].filter((one) => one !== undefined && one !== null).join(", ") : "";
  const rows = said.atoms.map((atom) =>
    h("tr", {}, h("th", { scope: "row" }, h("code", {}, atom.atom)), h("td", { class: atom.answer }, atom.answer), h("td", {}, atom.rule), h("td", {}, atom.layer)),
  );
  return [
    h("p", { class: "decision" }, h("strong", { class: `decided ${said.decision}` }, DECISIONS[said.decision]), h("span", { class: `risk ${said.risk}` }, `${said.risk} risk`), said.summary),
    h("p", {}, said.reason),
    h("p", { class: "quiet" }, `${said.rule}${place ? ` (${place})` : ""}`),
    ...(rows.length > 0 ? [table("What the decision is made of", ["Part", "Answer", "Rule", "From"], h("tbody", {}, ...rows))] : []),
    h("details", {}, h("summary", {}, "What it touches"), plain(JSON.stringify(said.facts, null, 2), "Facts of the call")),
  ];
}

customElements.define("tg-rules", Rules);
