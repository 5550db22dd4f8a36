/**
 * The token of this tab. It comes in the fragment of the link, which is never sent anywhere, and
 * leaves the address at once.
 * @module
 */

const NAME = "toolgate-token";

/**
 * Takes the token from the address, or from what this tab knows.
 * @returns {string | null}
 */
export function take() {
  const given = /^#token=([A-Za-z0-9_.~-]+)$/.exec(location.hash);
  if (given?.[1]) {
    keep(given[1]);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(NAME);
}

/** @param {string} token */
export function keep(token) {
  sessionStorage.setItem(NAME, token);
}

/** Forgets the token. */
export function forget() {
  sessionStorage.removeItem(NAME);
}

/** @returns {string} */
export function token() {
  return sessionStorage.getItem(NAME) ?? "";
}

/**
 * A name for a request that no other has. It has to work where `crypto.randomUUID` does not:
 * on plain HTTP from another machine.
 * @returns {string}
 */
export function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
