/**
 * Where the user writes. A draft stays with its conversation, also over a reload.
 * @module
 */

import { attribute, h, put, say } from "./dom.js";

/** @param {string} of */
const draft = (of) => `toolgate-draft-${of}`;

export class Composer extends HTMLElement {
  /** Whose draft it is; set before it is shown. */
  of = "new";
  /** @type {(message: string) => void} */
  onsay = () => {};
  /** @type {() => void} */
  onstop = () => {};
  #isRunning = false;
  #isAllowed = true;
  #text = h("textarea", {
    id: "message",
    rows: 1,
    placeholder: "What is to be done?",
    autocomplete: "off",
    spellcheck: "true",
    onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    oninput: () => this.#changed(),
  });
  #send = h("button", { type: "submit", class: "main" }, "Send");
  #stop = h("button", { type: "button", hidden: true, onclick: () => this.onstop() }, "Stop");
  #hint = h("p", { class: "quiet", id: "hint" });

  connectedCallback() {
    if (this.firstChild) return;
    attribute(this.#text, "aria-describedby", "hint");
    put(
      this,
      h(
        "form",
        { class: "composer", onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
        h("label", { for: "message", class: "heard" }, "Your message"),
        this.#text,
        this.#stop,
        this.#send,
      ),
      this.#hint,
    );
    this.#text.value = sessionStorage.getItem(draft(this.of)) ?? "";
    this.#changed();
    this.#show();
  }

  /** Puts the caret there. */
  look() {
    this.#text.focus({ preventScroll: true });
  }

  /**
   * @param {boolean} isRunning whether a turn runs
   * @param {boolean} isAllowed whether this token may send
   */
  update(isRunning, isAllowed) {
    if (isRunning === this.#isRunning && isAllowed === this.#isAllowed) return;
    this.#isRunning = isRunning;
    this.#isAllowed = isAllowed;
    this.#show();
  }

  #show() {
    const hadFocus = this.#stop === document.activeElement;
    this.#stop.hidden = !this.#isRunning || !this.#isAllowed;
    this.#send.disabled = this.#isRunning || !this.#isAllowed;
    this.#text.disabled = !this.#isAllowed;
    if (hadFocus && this.#stop.hidden) this.look();
    const ready = "Enter sends, Shift+Enter begins a new line.";
    const running = "The model works. You can write on, and send when it is done.";
    say(this.#hint, !this.#isAllowed ? "This token may read only." : this.#isRunning ? running : ready);
  }

  #changed() {
    // Grows with the text, by attribute: inline styles are refused.
    const lines = this.#text.value.split("\n").length;
    this.#text.rows = Math.min(10, Math.max(lines, Math.ceil(this.#text.value.length / 80), 1));
    if (this.#text.value === "") sessionStorage.removeItem(draft(this.of));
    else sessionStorage.setItem(draft(this.of), this.#text.value);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    // While an input method composes, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#submit(event);
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    const message = this.#text.value;
    if (message.trim() === "" || this.#send.disabled) return;
    this.#text.value = "";
    this.#changed();
    this.onsay(message);
  }

  /**
   * Puts a message back that was not taken.
   * @param {string} message
   */
  restore(message) {
    if (this.#text.value === "") this.#text.value = message;
    this.#changed();
  }
}

customElements.define("tg-composer", Composer);
