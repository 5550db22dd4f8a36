/**
 * Markdown as nodes. HTML in it is text, links lead to the web or nowhere, and pictures are
 * links: nothing is loaded.
 * @module
 */

import { fill, h } from "./dom.js";

/** The most quotes and lists inside each other. */
const DEEPEST = 6;

/** The longest paragraph that is searched for marks. */
const LONGEST = 20_000;

/**
 * Cuts a text into its top blocks. Text that is added changes the last block only.
 * @param {string} text
 * @returns {string[]}
 */
export function blocks(text) {
  /** @type {string[]} */
  const all = [];
  /** @type {string[]} */
  let block = [];
  /** @type {string | null} */
  let fence = null;
  const end = () => {
    if (block.length > 0) all.push(block.join("\n"));
    block = [];
  };
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      block.push(line);
      if (mark && mark.startsWith(fence) && line.trim() === mark) {
        fence = null;
        end();
      }
    } else if (mark) {
      // A fence inside a list belongs to the list.
      end();
      fence = mark;
      block.push(line);
    } else if (line.trim() === "") {
      // Items with space between them are one list.
      if (block.length > 0 && isList(block[0] ?? "")) block.push("");
      else end();
    } else {
      const isInside = /^\s{2,}/.test(line) || isList(line);
      if (block.at(-1) === "" && !isInside) end();
      block.push(line);
    }
  }
  end();
  return all.map((one) => one.replace(/\n+$/, ""));
}

/** @param {string} line */
const isList = (line) => /^ {0,3}([-*+]|\d{1,9}[.)])(\s|$)/.test(line);

/** @type {WeakMap<Element, string[]>} */
const shown = new WeakMap();

/**
 * Shows Markdown in an element. Blocks that did not change stay the same nodes.
 * @param {Element} place
 * @param {string} text
 */
export function show(place, text) {
  const known = shown.get(place) ?? [];
  const next = blocks(text);
  let same = 0;
  while (same < known.length && same < next.length && known[same] === next[same]) same += 1;
  while (place.children.length > same) place.lastElementChild?.remove();
  for (const source of next.slice(same)) place.append(h("div", {}, ...block(source, 0)));
  shown.set(place, next);
}

/**
 * The nodes of a block.
 * @param {string} source
 * @param {number} depth
 * @returns {Node[]}
 */
function block(source, depth) {
  const lines = source.split("\n");
  const first = lines[0] ?? "";
  const fence = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(first);
  if (fence) return [code(lines, fence[1] ?? "```", fence[2] ?? "")];
  if (depth < DEEPEST && isList(first)) return [list(lines, depth)];
  if (depth < DEEPEST && /^ {0,3}>/.test(first)) {
    const inside = lines.map((line) => line.replace(/^ {0,3}> ?/, "")).join("\n");
    return [h("blockquote", {}, ...blocks(inside).flatMap((one) => block(one, depth + 1)))];
  }
  if (lines.length > 1 && isRule(lines[1] ?? "") && first.includes("|")) return table(lines);
  return paragraphs(lines);
}

/** @param {string} line */
const isRule = (line) => line.includes("-") && /^[\s|:-]+$/.test(line) && line.includes("|");

/**
 * @param {string[]} lines
 * @param {string} fence
 * @param {string} language
 * @returns {Node}
 */
function code(lines, fence, language) {
  const isClosed = lines.length > 1 && (lines.at(-1) ?? "").trim().startsWith(fence);
  const inside = lines.slice(1, isClosed ? -1 : undefined).join("\n");
  const label = language ? `Code, ${language}` : "Code";
  return h("pre", { tabindex: 0, role: "group", "aria-label": label }, h("code", {}, inside));
}

/**
 * @param {string[]} lines
 * @param {number} depth
 * @returns {Node}
 */
function list(lines, depth) {
  const isOrdered = /^\s*\d/.test(lines[0] ?? "");
  /** @type {string[][]} */
  const items = [];
  let indent = 0;
  for (const line of lines) {
    const item = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/.exec(line);
    if (item && (items.length === 0 || line.search(/\S/) < indent)) {
      indent = (item[1] ?? "").length + (item[2] ?? "").length + 1;
      items.push([item[4] ?? ""]);
    } else {
      items.at(-1)?.push(line.slice(0, indent).trim() + line.slice(indent));
    }
  }
  const start = /^\s*(\d+)/.exec(lines[0] ?? "")?.[1];
  const attributes = isOrdered && start !== "1" ? { start: start ?? 1 } : {};
  return h(isOrdered ? "ol" : "ul", attributes, ...items.map((item) => listItem(item, depth)));
}

/**
 * @param {string[]} lines
 * @param {number} depth
 * @returns {Node}
 */
function listItem(lines, depth) {
  /** @type {string[]} */
  const parts = [];
  /** @type {string[]} */
  let part = [];
  const end = () => {
    if (part.length > 0) parts.push(part.join("\n"));
    part = [];
  };
  for (const line of lines) {
    if (isList(line) && part.length > 0 && !isList(part[0] ?? "")) end();
    part.push(line);
  }
  end();
  const nodes = parts.flatMap((one) => blocks(one).flatMap((inner) => block(inner, depth + 1)));
  const [only] = nodes;
  // An item of one paragraph is shown without its distances.
  if (only instanceof HTMLParagraphElement) {
    return h("li", {}, ...only.childNodes, ...nodes.slice(1));
  }
  return h("li", {}, ...nodes);
}

/**
 * @param {string[]} lines
 * @returns {Node[]}
 */
function table(lines) {
  const cells = (/** @type {string} */ line) =>
    line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const head = cells(lines[0] ?? "");
  const to = lines.findIndex((line, at) => at > 1 && !line.includes("|"));
  const body = lines.slice(2, to < 0 ? undefined : to);
  const row = (/** @type {"td" | "th"} */ tag) => (/** @type {string} */ line) =>
    h("tr", {}, ...head.map((_, at) => h(tag, {}, ...inline(cells(line)[at] ?? ""))));
  const made = h(
    "table",
    {},
    h("thead", {}, row("th")(lines[0] ?? "")),
    h("tbody", {}, ...body.map(row("td"))),
  );
  const wrapped = h("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Table" }, made);
  return to < 0 ? [wrapped] : [wrapped, ...paragraphs(lines.slice(to))];
}

/**
 * Headings, lines across and paragraphs.
 * @param {string[]} lines
 * @returns {Node[]}
 */
function paragraphs(lines) {
  /** @type {Node[]} */
  const nodes = [];
  /** @type {string[]} */
  let text = [];
  const end = () => {
    if (text.length > 0) nodes.push(h("p", {}, ...inline(text.join("\n"))));
    text = [];
  };
  for (const line of lines) {
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (heading) {
      end();
      // Models skip levels, and headings of the page must not: all are one level, and look apart.
      const level = `level${Math.min(4, (heading[1] ?? "").length)}`;
      nodes.push(h("h3", { class: level }, ...inline(heading[2] ?? "")));
    } else if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      end();
      nodes.push(h("hr"));
    } else {
      text.push(line);
    }
  }
  end();
  return nodes;
}

/** Code, pictures, links, plain addresses, strong, emphasis and struck text. */
const INLINE =
  /(`+)([\s\S]*?[^`])\1(?!`)|!\[([^\]]*)\]\(([^()\s]*)[^()]*\)|\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)[^()]*\)|(https?:\/\/[^\s<>"'`)\]]+)|(\*\*|__)(?=\S)([\s\S]*?\S)\8(?!\*)|([*_])(?=\S)([\s\S]*?\S)\10(?![A-Za-z0-9])|~~(?=\S)([\s\S]*?\S)~~|\\([!-/:-@[-`{-~])| {2,}\n|\\\n/;

/**
 * @param {string} text
 * @param {number} [depth]
 * @returns {Node[]}
 */
export function inline(text, depth = 0) {
  /** @type {Node[]} */
  const nodes = [];
  // Whoever writes that much without a blank line writes no prose.
  if (text.length > LONGEST) return [new Text(text)];
  let rest = text;
  let before = "";
  while (rest !== "") {
    const found = depth < DEEPEST ? INLINE.exec(rest) : null;
    if (!found) break;
    const at = rest.slice(0, found.index);
    const whole = found[0];
    const isInWord = (found[10] === "_" || found[8] === "__") && /[A-Za-z0-9]$/.test(before + at);
    if (isInWord) {
      const mark = found[8] ?? "_";
      nodes.push(new Text(at + mark));
      before = "_";
      rest = rest.slice(found.index + mark.length);
      continue;
    }
    if (at) nodes.push(new Text(at));
    nodes.push(...span(found, depth));
    before = whole;
    rest = rest.slice(found.index + whole.length);
  }
  if (rest) nodes.push(new Text(rest));
  return nodes;
}

/**
 * @param {RegExpExecArray} found
 * @param {number} depth
 * @returns {Node[]}
 */
function span(found, depth) {
  const [whole, , inCode, picture, source, label, target, plain, , strong, , emphasis, struck, escaped] =
    found;
  if (inCode !== undefined) return [h("code", {}, inCode.replace(/^ (.*) $/s, "$1"))];
  if (source !== undefined) return [link(source, [new Text(picture || source)])];
  if (target !== undefined) return [link(target, inline(label ?? "", depth + 1))];
  if (plain !== undefined) {
    const address = plain.replace(/[.,;:!?]+$/, "");
    return [link(address, [new Text(address)]), new Text(plain.slice(address.length))];
  }
  if (strong !== undefined) return [h("strong", {}, ...inline(strong, depth + 1))];
  if (emphasis !== undefined) return [h("em", {}, ...inline(emphasis, depth + 1))];
  if (struck !== undefined) return [h("s", {}, ...inline(struck, depth + 1))];
  if (escaped !== undefined) return [new Text(escaped)];
  return whole.endsWith("\n") ? [h("br")] : [new Text(whole)];
}

/**
 * A link to the web. The address is in the title, so that a label cannot hide it.
 * @param {string} target
 * @param {Node[]} label
 * @returns {Node}
 */
function link(target, label) {
  let address = null;
  try {
    address = new URL(target);
  } catch {
    // A path of the workspace: the page has no such file.
  }
  if (!address || !["http:", "https:", "mailto:"].includes(address.protocol)) {
    return h("span", { title: target }, ...label);
  }
  return h(
    "a",
    { href: address.href, title: address.href, target: "_blank", rel: "noopener noreferrer" },
    ...label,
  );
}

/**
 * Text as it is, in an element that can be scrolled.
 * @param {string} text
 * @param {string} label
 * @returns {HTMLPreElement}
 */
export function plain(text, label) {
  const place = h("pre", { tabindex: 0, role: "group", "aria-label": label });
  fill(place, text);
  return place;
}
