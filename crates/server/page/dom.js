/**
 * Makes nodes. Text goes in as text: nothing here reads markup.
 * @module
 */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Value */

/**
 * Makes an element. A function is a listener, `true` an empty attribute; nothing is left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, Value>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, attributes);
  put(element, ...children);
  return element;
}

/**
 * Makes an element of SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, Value>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(element, attributes);
  put(element, ...children);
  return element;
}

/**
 * @param {Element} element
 * @param {Record<string, Value>} attributes
 */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else attribute(element, name, value);
  }
}

/**
 * Sets an attribute, or takes it away.
 * @param {Element} element
 * @param {string} name
 * @param {string | number | boolean | null | undefined} value
 */
export function attribute(element, name, value) {
  if (value === false || value === null || value === undefined) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/**
 * Appends what is there of these.
 * @param {Element | DocumentFragment} parent
 * @param {...Child} children
 */
export function put(parent, ...children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replaces the content.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  put(parent, ...children);
}

/**
 * Sets the text where it is another one, so that selections and readers are not disturbed.
 * @param {Element} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @type {WeakMap<Element, Map<string, Element>>} */
const lists = new WeakMap();

/**
 * Makes the children of an element those of a list. A child stays the same element as long as
 * its key is in the list.
 * @template T
 * @template {Element} E
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => E} make
 * @param {(element: E, item: T) => void} [update]
 */
export function keyed(parent, items, key, make, update) {
  const known = lists.get(parent) ?? new Map();
  /** @type {Map<string, Element>} */
  const next = new Map();
  for (const item of items) {
    const name = key(item);
    if (next.has(name)) continue;
    const element = known.get(name) ?? make(item);
    update?.(/** @type {E} */ (element), item);
    next.set(name, element);
  }
  for (const [name, element] of known) if (!next.has(name)) element.remove();
  /** @type {Element | null} */
  let at = parent.firstElementChild;
  for (const element of next.values()) {
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
  }
  lists.set(parent, next);
}

/**
 * Calls a function soon, and once however often it was asked to. Hidden tabs get no frames.
 * @param {() => void} work
 * @returns {() => void}
 */
export function soon(work) {
  let waits = false;
  const run = () => {
    if (!waits) return;
    waits = false;
    work();
  };
  return () => {
    if (waits) return;
    waits = true;
    if (document.hidden) setTimeout(run);
    else {
      requestAnimationFrame(run);
      setTimeout(run, 200);
    }
  };
}

/**
 * Says something to screen readers.
 * @param {string} text
 */
export function announce(text) {
  const place = document.getElementById("announced");
  if (place) place.textContent = text;
}

/**
 * A moment as people write it, short.
 * @param {number} ms
 * @returns {string}
 */
export function moment(ms) {
  const date = new Date(ms);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday
    ? date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

/**
 * A length of time, short.
 * @param {number} ms
 * @returns {string}
 */
export function lasting(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
