/**
 * The keys.
 * @module
 */

import { h } from "./dom.js";

const KEYS = [
  ["Alt+Shift+N", "A new conversation"],
  ["Alt+Shift+W", "What waits for you"],
  ["Alt+Shift+J / K", "The next or previous conversation"],
  ["Alt+Shift+S", "Search conversations"],
  ["Alt+Shift+M", "To the message"],
  ["Alt+Shift+Q", "To the first question on this view"],
  ["Alt+Shift+X", "Stop the turn"],
  ["Alt+Shift+H", "This help"],
  ["Enter, Shift+Enter", "Send, new line"],
  ["y, n, r, l", "On a question: allow, deny, deny with a reason, not now"],
  ["Tab, Shift+Tab", "On and back"],
];

/** Shows the keys. */
export function help() {
  if (document.querySelector("dialog[open]")) return;
  const dialog = h(
    "dialog",
    { "aria-labelledby": "help-title", onclose: () => dialog.remove() },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", { class: "keys" }, ...KEYS.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h("div", { class: "answers" }, h("button", { type: "button", class: "main", onclick: () => dialog.close() }, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}
