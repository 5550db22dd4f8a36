/**
 * Fields of forms.
 * @module
 */

import { h } from "./dom.js";

/**
 * A field with its label.
 * @param {string} label
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} input with an id
 * @param {string} [hint]
 * @returns {HTMLElement}
 */
export function field(label, input, hint) {
  if (hint) input.setAttribute("aria-describedby", `${input.id}-hint`);
  return h(
    "div",
    { class: "field" },
    h("label", { for: input.id }, label),
    input,
    hint ? h("p", { class: "quiet", id: `${input.id}-hint` }, hint) : null,
  );
}

/**
 * @param {string} id
 * @param {[value: string, text: string][]} options
 * @returns {HTMLSelectElement}
 */
export const choice = (id, options) =>
  h("select", { id }, ...options.map(([value, text]) => h("option", { value }, text)));

/**
 * A table that can be scrolled sideways.
 * @param {string} caption
 * @param {string[]} head
 * @param {Node} body
 * @returns {HTMLElement}
 */
export const table = (caption, head, body) =>
  h(
    "div",
    { class: "wide", tabindex: 0, role: "group", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "heard" }, caption),
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
      body,
    ),
  );
