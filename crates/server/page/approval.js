/**
 * A question: everything that it is about, and below it the answers.
 *
 * The buttons stand below all that they answer for, and work only after they could be seen and
 * the keyboard was quiet for a while, so that nothing is approved that was meant for something
 * else.
 * @module
 */

import { RequestError, why } from "./api.js";
import { announce, attribute, fill, h, put } from "./dom.js";
import { plain } from "./markdown.js";
import { store } from "./store.js";

/**
 * @typedef {import("./types/frames.js").Confirm} Confirm
 * @typedef {import("./types/frames.js").ToolApprove} ToolApprove
 */

/** So long the buttons have to be seen, and the keyboard quiet, before they work. */
const QUIET = 500;

let typed = 0;
addEventListener("keydown", () => (typed = Date.now()), { capture: true });

/** @type {Record<string, string>} */
const RISKS = { low: "low risk", medium: "medium risk", high: "high risk" };

let count = 0;

export class Approval extends HTMLElement {
  /** @type {Confirm[]} */
  #calls = [];
  #isArmed = false;
  #isSent = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #id = `question-${(count += 1)}`;
  #said = h("p", { class: "said", role: "status" });
  #reason = h("input", { id: `${this.#id}-reason`, maxlength: 1000, autocomplete: "off" });
  #reasonRow = h(
    "div",
    { class: "field", hidden: true },
    h("label", { for: `${this.#id}-reason` }, "Why not? The model reads this."),
    this.#reason,
  );
  #remember = h("select", { id: `${this.#id}-remember` });
  #buttons = h("div", { class: "answers" });
  #whole = h("div", { class: "whole" });
  #later = h("div", { class: "later", hidden: true });
  #seen = new IntersectionObserver(([entry]) => this.#watch(entry?.isIntersecting ?? false));

  connectedCallback() {
    this.#seen.observe(this.#buttons);
  }

  disconnectedCallback() {
    this.#seen.disconnect();
    clearTimeout(this.#timer);
  }

  /** Whether the conversation is named; set before the question. */
  isLinked = false;

  /** @param {Confirm[]} calls */
  set question(calls) {
    const key = (/** @type {Confirm} */ one) => `${one.tool_id}/${one.plan_hash}/${one.may_answer}`;
    if (calls.map(key).join() === this.#calls.map(key).join()) return;
    this.#calls = calls;
    this.#draw();
  }

  /** Gives the question the focus. */
  look() {
    this.querySelector("h2")?.focus();
  }

  #draw() {
    const [first] = this.#calls;
    if (!first) return;
    const many = this.#calls.length > 1;
    const title = many ? `${this.#calls.length} calls need your approval` : "This needs your approval";
    const from = h("a", { href: `#/c/${encodeURIComponent(first.conversation_id)}` }, "Open the conversation");
    fill(
      this.#whole,
      h("header", {}, h("h2", { id: this.#id, tabindex: -1 }, title), this.isLinked && from),
      ...this.#calls.map((call) => this.#call(call, many)),
      first.may_answer ? this.#form(first) : h("p", { class: "quiet" }, "This token may not answer it."),
    );
    fill(
      this.#later,
      h("span", {}, "Still waiting: ", h("strong", {}, first.summary)),
      h("button", { type: "button", onclick: () => this.#postpone(false) }, "Look at it again"),
    );
    fill(
      this,
      h(
        "article",
        { class: "approval", "aria-labelledby": this.#id, "data-question": first.approval_id, onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event) },
        this.#whole,
        this.#later,
      ),
    );
  }

  /**
   * @param {Confirm} call
   * @param {boolean} many
   * @returns {Node}
   */
  #call(call, many) {
    const box = many && h("input", { type: "checkbox", name: "call", value: call.tool_id, checked: true, id: `${this.#id}-${call.index}` });
    const summary = many ? h("label", { for: `${this.#id}-${call.index}` }, call.summary) : call.summary;
    const preview = document.createElement("tg-diff");
    /** @type {import("./diff.js").Diff} */ (preview).text = call.preview ?? "";
    const command = /** @type {Record<string, unknown> | null} */ (call.input)?.["command"];
    return h(
      "section",
      { class: "asked", "aria-label": call.summary },
      h(
        "p",
        { class: "what" },
        box,
        h("span", { class: `risk ${call.risk}` }, RISKS[call.risk] ?? call.risk),
        h("code", { class: "tool" }, call.tool_name),
        h("strong", {}, summary),
      ),
      typeof command === "string" && plain(command, "The whole command"),
      call.preview ? preview : null,
      call.preview_cut && h("p", { class: "warn" }, "The preview is too long and was cut: parts of the change are not shown."),
      whole(call, typeof command === "string"),
      facts("It does", call.effects),
      facts("The sandbox will refuse", call.would_fail),
      facts("It would need directories beyond the sandbox", call.could_open),
      h("p", { class: "quiet" }, call.why),
      call.model_reason && h("p", { class: "model" }, h("span", { class: "quiet" }, "The model says: "), call.model_reason),
    );
  }

  /**
   * @param {Confirm} first
   * @returns {Node}
   */
  #form(first) {
    const many = this.#calls.length > 1;
    const remembered = [...new Set(this.#calls.flatMap((call) => call.would_remember))];
    const covered = [...new Set(this.#calls.flatMap((call) => call.would_cover ?? []))];
    fill(
      this.#remember,
      h("option", { value: "once" }, "Only this time"),
      h("option", { value: "conversation" }, "In this conversation"),
      h("option", { value: "project" }, "Always in this project"),
    );
    const button = (/** @type {string} */ name, /** @type {string} */ text, /** @type {string} */ key, /** @type {() => void} */ act, kind = "") =>
      h("button", { type: "button", name, class: kind, "aria-keyshortcuts": key, onclick: act }, text, " ", h("kbd", { "aria-hidden": "true" }, key));
    fill(
      this.#buttons,
      button("allow", many ? "Allow the chosen" : "Allow", "y", () => void this.#answer(true), "main"),
      button("deny", many ? "Deny all" : "Deny", "n", () => void this.#answer(false)),
      button("deny-with-reason", "Deny with a reason…", "r", () => this.#because()),
      button("later", "Not now", "l", () => this.#postpone(true), "plain"),
    );
    this.#arm(false);
    const unwatched = first.expires_unwatched_ms;
    return h(
      "div",
      { class: "form" },
      remembered.length > 0 &&
        h(
          "div",
          { class: "field" },
          h("label", { for: `${this.#id}-remember` }, "If allowed, this holds"),
          this.#remember,
          h("ul", { class: "remembered", "aria-label": "What is remembered" }, ...remembered.map((rule) => h("li", {}, h("code", {}, rule)))),
          facts("That would cover for example", covered),
        ),
      this.#reasonRow,
      this.#buttons,
      this.#said,
      h(
        "p",
        { class: "quiet" },
        "“Not now” is no answer: it goes on waiting",
        unwatched ? `, and expires ${Math.round(unwatched / 1000)} s after the last approver left.` : ".",
      ),
    );
  }

  /** @param {boolean} isSeen */
  #watch(isSeen) {
    clearTimeout(this.#timer);
    if (!isSeen || this.#isArmed) return;
    const quiet = () => {
      const wait = QUIET - (Date.now() - typed);
      if (wait > 0) this.#timer = setTimeout(quiet, wait);
      else this.#arm(true);
    };
    this.#timer = setTimeout(quiet, QUIET);
  }

  /** @param {boolean} isArmed */
  #arm(isArmed) {
    this.#isArmed = isArmed;
    for (const button of this.#buttons.children) {
      attribute(button, "disabled", !isArmed && button.getAttribute("name") !== "later");
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (target === this.#reason) {
      if (event.key === "Enter") void this.#answer(false);
      if (event.key === "Escape") this.look();
      return;
    }
    if (target.closest("input, select, textarea")) return;
    const name = { y: "allow", n: "deny", r: "deny-with-reason", l: "later" }[event.key];
    const button = name && this.#buttons.querySelector(`[name="${name}"]`);
    if (button instanceof HTMLButtonElement && !button.disabled) {
      event.preventDefault();
      button.click();
    }
  }

  /** Asks for the reason; with one, denies. */
  #because() {
    if (!this.#reasonRow.hidden) {
      void this.#answer(false);
      return;
    }
    this.#reasonRow.hidden = false;
    const button = this.#buttons.querySelector('[name="deny-with-reason"]');
    if (button) fill(button, "Deny with this reason");
    this.#reason.focus();
  }

  /** @param {boolean} isLater */
  #postpone(isLater) {
    this.#whole.hidden = isLater;
    this.#later.hidden = !isLater;
    if (isLater) this.#later.querySelector("button")?.focus();
    else this.look();
  }

  /** @param {boolean} isAllowed */
  async #answer(isAllowed) {
    const [first] = this.#calls;
    if (!first || this.#isSent || !this.#isArmed) return;
    /** @type {ToolApprove["approve"]} */
    let approve = isAllowed ? "all" : "none";
    if (isAllowed && this.#calls.length > 1) {
      const boxes = [...this.querySelectorAll("input[name=call]:checked")];
      approve = boxes.map((box) => box.getAttribute("value") ?? "");
      if (approve.length === 0) {
        fill(this.#said, "Choose a call, or deny all.");
        return;
      }
    }
    this.#isSent = true;
    this.#arm(false);
    fill(this.#said, "Sending…");
    const reason = this.#reasonRow.hidden ? "" : this.#reason.value.trim();
    try {
      await store.answer({
        conversation_id: first.conversation_id,
        approval_id: first.approval_id,
        approve,
        plan_hashes: Object.fromEntries(this.#calls.map((call) => [call.tool_id, call.plan_hash])),
        ...(isAllowed && this.#remember.value !== "once" && this.#remember.isConnected ? { remember: this.#remember.value } : {}),
        ...(!isAllowed && reason !== "" ? { reason } : {}),
      });
      fill(this.#said, isAllowed ? "Allowed." : "Denied.");
      announce(isAllowed ? "Allowed." : "Denied.");
    } catch (error) {
      fill(this.#said, why(error));
      this.#isSent = error instanceof RequestError && error.kind === "approval_closed";
      this.#arm(!this.#isSent);
    }
  }
}

/**
 * Every argument that is not shown elsewhere.
 * @param {Confirm} call
 * @param {boolean} isCommand
 * @returns {Node | null}
 */
function whole(call, isCommand) {
  if (call.whole === "") return null;
  const text = plain(call.whole, "Everything it was given");
  if (!isCommand) return text;
  const more = h("details", {}, h("summary", {}, "Everything it was given"), text);
  more.open = call.whole.length > 2000;
  return more;
}

/**
 * @param {string} title
 * @param {string[] | undefined} lines
 * @returns {Node | null}
 */
function facts(title, lines) {
  if (!lines || lines.length === 0) return null;
  const place = h("div", { class: "facts" }, h("p", {}, `${title}:`));
  put(place, h("ul", {}, ...lines.map((line) => h("li", {}, line))));
  return place;
}

customElements.define("tg-approval", Approval);
