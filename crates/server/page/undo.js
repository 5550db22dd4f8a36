/**
 * Undo: the differences first, then the yes.
 * @module
 */

import { of, post, why } from "./api.js";
import { announce, fill, h } from "./dom.js";

/** @typedef {import("./diff.js").Diff} Diff */
/**
 * @typedef {object} Answer
 * @property {"nothing" | "refused" | "planned" | "done"} state
 * @property {string[]} [differences]
 * @property {number} [commands]
 * @property {{content: string, display?: string}} [result]
 * @property {{status: string, content: string}[]} [results]
 */

/**
 * Shows what would be undone, and undoes it if the user agrees.
 * @param {string} conversation
 * @param {{turn?: number, call?: string}} scope
 */
export async function undo(conversation, scope) {
  const content = h("div", { class: "inside", tabindex: 0, role: "group", "aria-label": "What is undone" }, h("p", {}, "Looking…"));
  const agree = h("button", { type: "button", class: "main", hidden: true }, "Undo these changes");
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const dialog = h(
    "dialog",
    { "aria-labelledby": "undo-title", onclose: () => dialog.remove() },
    h("h2", { id: "undo-title" }, scope.turn === undefined ? "Undo" : `Undo turn ${scope.turn}`),
    content,
    h("div", { class: "answers" }, agree, close),
  );
  document.body.append(dialog);
  dialog.showModal();
  const ask = async (/** @type {boolean} */ apply) => {
    /** @type {Answer} */
    const answer = await post(of(conversation, "/undo"), { ...scope, apply });
    return answer;
  };
  try {
    const planned = await ask(false);
    if (planned.state !== "planned") {
      fill(content, h("p", {}, planned.result?.content ?? "Nothing to undo."));
      fill(close, "Close");
      return;
    }
    fill(
      content,
      ...(planned.differences ?? []).map((text) => {
        const diff = /** @type {Diff} */ (document.createElement("tg-diff"));
        diff.text = text;
        return diff;
      }),
      (planned.commands ?? 0) > 0 &&
        h("p", { class: "warn" }, `${planned.commands} of the calls ran commands. What commands did stays.`),
    );
    agree.hidden = false;
    agree.onclick = async () => {
      agree.disabled = true;
      try {
        const done = await ask(true);
        const failed = (done.results ?? []).filter((one) => one.status !== "ok");
        fill(content, h("p", { role: "status" }, failed[0]?.content ?? (done.state === "done" ? "Undone." : (done.result?.content ?? "Not undone."))));
        announce(failed[0]?.content ?? "Undone.");
      } catch (error) {
        fill(content, h("p", { class: "warn", role: "status" }, why(error)));
      }
      agree.hidden = true;
      fill(close, "Close");
      close.focus();
    };
  } catch (error) {
    fill(content, h("p", { class: "warn" }, why(error)));
    fill(close, "Close");
  }
}
