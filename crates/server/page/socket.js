/**
 * The connection: tickets, what is followed, and coming back after a cut.
 * @module
 */

import { RequestError, post } from "./api.js";

/**
 * @typedef {import("./types/frames.js").ServerFrame} ServerFrame
 * @typedef {import("./types/frames.js").ClientFrame} ClientFrame
 * @typedef {import("./types/frames.js").ResumeAt} ResumeAt
 * @typedef {import("./types/http.js").Ticket} Ticket
 */

/**
 * What the connection asks of its owner.
 * @typedef {object} Owner
 * @property {() => ResumeAt[]} resume how far each conversation is known
 * @property {(frame: ServerFrame) => void} frame
 * @property {(state: "open" | "lost" | "refused") => void} state
 */

const PROTOCOL = 1;
const SHORTEST = 250;
const LONGEST = 8_000;

export class Socket {
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Owner} */
  #owner;
  #pause = SHORTEST;
  #isOpening = false;
  #isStopped = true;
  #heartbeat = 15_000;
  #heard = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #again;

  /** @param {Owner} owner */
  constructor(owner) {
    this.#owner = owner;
    addEventListener("online", () => this.#now());
    addEventListener("pageshow", () => this.#now());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#now();
    });
    setInterval(() => this.#watch(), 2_000);
  }

  /** Connects, and comes back whenever the connection is cut. */
  start() {
    this.#isStopped = false;
    void this.#open();
  }

  /** Ends the connection. */
  stop() {
    this.#isStopped = true;
    clearTimeout(this.#again);
    this.#socket?.close();
    this.#socket = null;
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /**
   * Sends a frame, if there is a connection.
   * @template {ClientFrame["type"]} T
   * @param {T} type
   * @param {Extract<ClientFrame, {type: T}>["payload"]} payload
   * @returns {boolean}
   */
  send(type, payload) {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify({ type, payload }));
    return true;
  }

  #now() {
    if (this.#isStopped || this.#socket || this.#isOpening) return;
    clearTimeout(this.#again);
    void this.#open();
  }

  /** A connection that says nothing for too long is a dead one, whatever the browser thinks. */
  #watch() {
    if (this.#socket && Date.now() - this.#heard > 2.5 * this.#heartbeat) this.#lost(this.#socket);
  }

  async #open() {
    if (this.#isOpening || this.#socket) return;
    this.#isOpening = true;
    try {
      /** @type {Ticket} */
      const { ticket } = await post("/api/ticket");
      if (this.#isStopped) return;
      const scheme = location.protocol === "https:" ? "wss:" : "ws:";
      const socket = new WebSocket(
        `${scheme}//${location.host}/ws?ticket=${encodeURIComponent(ticket)}`,
      );
      this.#socket = socket;
      this.#heard = Date.now();
      socket.onopen = () => {
        this.#heard = Date.now();
        this.send("chat:hello", { protocol: PROTOCOL, resume: this.#owner.resume() });
        this.send("chat:subscribe", { inbox: true });
      };
      socket.onmessage = (event) => this.#frame(JSON.parse(event.data));
      socket.onclose = () => this.#lost(socket);
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) {
        this.stop();
        this.#owner.state("refused");
      } else {
        this.#later();
      }
    } finally {
      this.#isOpening = false;
    }
  }

  /** @param {ServerFrame} frame */
  #frame(frame) {
    this.#heard = Date.now();
    if (frame.type === "chat:welcome") {
      this.#heartbeat = frame.payload.heartbeat_ms;
      this.#pause = SHORTEST;
      this.#owner.state("open");
    }
    this.#owner.frame(frame);
  }

  /** @param {WebSocket} socket */
  #lost(socket) {
    if (this.#socket !== socket) return;
    this.#socket = null;
    socket.onclose = null;
    socket.close();
    this.#later();
  }

  #later() {
    if (this.#isStopped) return;
    this.#owner.state("lost");
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.#now(), this.#pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST);
  }
}
