/**
 * Text that comes in pieces with offsets in bytes.
 * @module
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * How many bytes a text has.
 * @param {string} text
 * @returns {number}
 */
export const size = (text) => encoder.encode(text).length;

/**
 * Text that is held, and how far it goes.
 * @typedef {object} Held
 * @property {string} text
 * @property {number} end in bytes; more than the text has where its beginning was dropped
 */

/** @returns {Held} */
export const nothing = () => ({ text: "", end: 0 });

/**
 * Adds a piece: one that fits is applied, one that is known is ignored, and of one that overlaps
 * the rest is applied. After a gap nothing changes.
 * @param {Held} held
 * @param {number} offset
 * @param {string} piece
 * @returns {"applied" | "ignored" | "gap"}
 */
export function add(held, offset, piece) {
  if (offset > held.end) return "gap";
  const bytes = encoder.encode(piece);
  const known = held.end - offset;
  if (known >= bytes.length) return "ignored";
  held.text += known === 0 ? piece : decoder.decode(bytes.subarray(known));
  held.end = offset + bytes.length;
  return "applied";
}

/**
 * Holds a piece alone, wherever it begins.
 * @param {Held} held
 * @param {number} offset
 * @param {string} piece
 */
export function restart(held, offset, piece) {
  held.text = piece;
  held.end = offset + size(piece);
}

/**
 * Keeps the end of a long text.
 * @param {Held} held
 * @param {number} most in UTF-16 units
 */
export function keepEnd(held, most) {
  if (held.text.length <= 2 * most) return;
  const from = held.text.indexOf("\n", held.text.length - most);
  held.text = held.text.slice(from < 0 ? held.text.length - most : from + 1);
}
