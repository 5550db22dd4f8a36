/**
 * Requests to the server.
 * @module
 */

import { token } from "./token.js";

/** @typedef {import("./types/http.js").ProblemBody} ProblemBody */

/** A request that was refused or failed. */
export class RequestError extends Error {
  /**
   * @param {number} status
   * @param {string} kind
   * @param {string} message
   */
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

/**
 * Sends a request with the token of this tab.
 * @template T
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<T>}
 */
async function request(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = { authorization: `Bearer ${token()}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: "omit",
      cache: "no-store",
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch {
    throw new RequestError(0, "network", "The server does not answer.");
  }
  if (!response.ok) {
    /** @type {Partial<ProblemBody>} */
    const problem = await response.json().catch(() => ({}));
    throw new RequestError(
      response.status,
      problem.kind ?? "failed",
      problem.detail ?? response.statusText,
    );
  }
  if (response.status === 204) return /** @type {T} */ (undefined);
  return response.json();
}

/**
 * @template T
 * @param {string} path
 * @returns {Promise<T>}
 */
export const get = (path) => request("GET", path);

/**
 * @template T
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<T>}
 */
export const post = (path, body = {}) => request("POST", path, body);

/**
 * @param {string} path
 * @returns {Promise<void>}
 */
export const remove = (path) => request("DELETE", path);

/**
 * The path of a conversation.
 * @param {string} id
 * @param {string} [rest]
 * @returns {string}
 */
export const of = (id, rest = "") => `/api/conversations/${encodeURIComponent(id)}${rest}`;

/**
 * What went wrong, for the user.
 * @param {unknown} error
 * @returns {string}
 */
export const why = (error) => (error instanceof Error ? error.message : String(error));
