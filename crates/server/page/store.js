/**
 * Everything that the page knows, and who is told when it changes.
 * @module
 */

import { get, post, of, why } from "./api.js";
import { announce, soon } from "./dom.js";
import { apply, begin, note } from "./frames.js";
import { Socket } from "./socket.js";
import { fresh } from "./token.js";

/**
 * @typedef {import("./types/frames.js").ServerFrame} ServerFrame
 * @typedef {import("./types/frames.js").Confirm} Confirm
 * @typedef {import("./types/frames.js").ToolApprove} ToolApprove
 * @typedef {import("./types/http.js").Me} Me
 * @typedef {import("./types/http.js").ConversationList} ConversationList
 * @typedef {import("./types/http.js").ConversationRow} ConversationRow
 * @typedef {import("./types/http.js").ConversationState} ConversationState
 * @typedef {import("./types/http.js").NewConversation} NewConversation
 * @typedef {import("./frames.js").Conversation} Conversation
 */

/**
 * What changed: `c:ID` for a conversation, or one of the lists.
 * @typedef {"list" | "inbox" | "link" | `c:${string}`} Topic
 */

/** What is said where a token is not enough. */
export const OPERATOR = "Only the one who started the server may see this.";

/** A message that the server has not confirmed. */
/** @typedef {{conversation: string, message: string, request: string}} Unsent */

class Store {
  /** @type {Me | null} */
  me = null;
  /** @type {ConversationRow[]} */
  list = [];
  /** @type {Confirm[]} */
  inbox = [];
  inboxTotal = 0;
  /** @type {"lost" | "open" | "refused"} */
  link = "lost";
  /** What the list is searched for. */
  query = "";
  /** @type {Map<string, Conversation>} */
  #conversations = new Map();
  /** @type {Map<string, ConversationState>} */
  #rights = new Map();
  /** @type {Map<string, Set<() => void>>} */
  #listeners = new Map();
  /** @type {Unsent[]} */
  #unsent = [];
  /** @type {Set<string>} questions that this tab answered */
  #answered = new Set();
  #epoch = "";
  /** Questions that were there before are not announced again. */
  #announced = new Set();
  #listSoon = later(() => void this.refresh(), 400);
  #socket = new Socket({
    resume: () =>
      [...this.#conversations.values()].map(({ id, seq, epoch }) => ({
        conversation_id: id,
        after_seq: seq,
        epoch,
      })),
    frame: (frame) => this.#frame(frame),
    state: (state) => {
      this.link = state;
      this.#tell("link");
    },
  });

  /** Begins with the token of this tab. */
  async start() {
    /** @type {Me} */
    const me = await get("/api/me");
    this.me = me;
    this.#socket.start();
    await this.refresh();
  }

  /**
   * Calls back whenever something changed, until the signal says no.
   * @param {Topic} topic
   * @param {() => void} listener
   * @returns {() => void} ends it
   */
  on(topic, listener) {
    const call = soon(listener);
    const all = this.#listeners.get(topic) ?? new Set();
    all.add(call);
    this.#listeners.set(topic, all);
    return () => all.delete(call);
  }

  /** @param {Topic} topic */
  #tell(topic) {
    for (const listener of this.#listeners.get(topic) ?? []) listener();
  }

  /** Reads the list of conversations again. */
  async refresh() {
    const query = new URLSearchParams({ limit: "100" });
    if (this.query) query.set("query", this.query);
    try {
      /** @type {ConversationList} */
      const { conversations } = await get(`/api/conversations?${query}`);
      this.list = conversations;
      this.#tell("list");
    } catch {
      // The state of the connection says so.
    }
  }

  /**
   * A conversation, which is followed from now on.
   * @param {string} id
   * @returns {Conversation}
   */
  follow(id) {
    const known = this.#conversations.get(id);
    if (known) return known;
    const conversation = begin(id);
    this.#conversations.set(id, conversation);
    // Many are followed in an afternoon: the ones that were opened first are let go.
    for (const [other, { state }] of this.#conversations) {
      if (this.#conversations.size <= 24) break;
      if (other === id || state === "running") continue;
      this.#conversations.delete(other);
      this.#socket.send("chat:unsubscribe", { conversation_id: other });
    }
    this.#socket.send("chat:subscribe", { conversation_id: id, after_seq: 0, inbox: false });
    void this.rights(id);
    return conversation;
  }

  /**
   * What this token may do in a conversation.
   * @param {string} id
   * @returns {ConversationState | undefined}
   */
  may(id) {
    return this.#rights.get(id);
  }

  /** @param {string} id */
  async rights(id) {
    try {
      this.#rights.set(id, await get(of(id)));
    } catch (error) {
      const conversation = this.#conversations.get(id);
      if (conversation) note(conversation, why(error));
    }
    this.#tell(`c:${id}`);
  }

  /**
   * Begins a conversation with a first message.
   * @param {NewConversation} wanted
   * @param {string} message
   * @returns {Promise<string>}
   */
  async begin(wanted, message) {
    /** @type {ConversationState} */
    const state = await post("/api/conversations", wanted);
    const id = state.conversation_id;
    this.#rights.set(id, state);
    this.follow(id);
    this.say(id, message);
    return id;
  }

  /**
   * Says something. It is sent again after a cut until the server confirms it, and counts once.
   * @param {string} conversation
   * @param {string} message
   */
  say(conversation, message) {
    const unsent = { conversation, message, request: fresh() };
    this.#unsent.push(unsent);
    this.#send(unsent);
    this.#tell(`c:${conversation}`);
  }

  /** @param {Unsent} unsent */
  #send({ conversation, message, request }) {
    this.#socket.send("chat:send", { conversation_id: conversation, message, request_id: request });
  }

  /**
   * What the server has not confirmed.
   * @param {string} conversation
   * @returns {string[]}
   */
  unsent(conversation) {
    return this.#unsent.filter((one) => one.conversation === conversation).map((one) => one.message);
  }

  /** @param {string} conversation */
  cancel(conversation) {
    this.#socket.send("chat:cancel", { conversation_id: conversation });
  }

  /**
   * Settles what a crash left.
   * @param {string} conversation
   * @param {"keep" | "discard"} choice
   */
  resume(conversation, choice) {
    this.#socket.send("chat:resume", { conversation_id: conversation, choice });
    this.#socket.send("chat:snapshot", { conversation_id: conversation });
  }

  /**
   * Answers a question, bound to what was shown.
   * @param {ToolApprove} answer
   * @returns {Promise<void>}
   */
  async answer(answer) {
    const { approval_id: id, ...rest } = answer;
    if (!id) return;
    this.#answered.add(id);
    await post(`/api/approvals/${encodeURIComponent(id)}`, { ...rest, approval_id: id });
  }

  /** @param {ServerFrame} frame */
  #frame(frame) {
    switch (frame.type) {
      case "chat:welcome":
        this.#welcome(frame.payload.epoch);
        return;
      case "chat:inbox":
        this.#inbox(frame.payload.approvals, frame.payload.total);
        return;
      case "chat:accepted":
        this.#unsent = this.#unsent.filter((one) => one.request !== frame.payload.request_id);
        this.#listSoon();
        this.#tell(`c:${frame.payload.conversation_id}`);
        return;
      case "chat:ping":
        this.#ping(frame.payload.seqs);
        return;
      case "chat:ready":
        for (const id of frame.payload.conversation_ids) this.#ready(id);
        return;
      case "chat:error":
        this.#error(frame.payload);
        return;
      default:
        this.#apply(frame);
    }
  }

  /** @param {Exclude<ServerFrame, {type: "chat:welcome" | "chat:inbox" | "chat:accepted" | "chat:ping" | "chat:ready" | "chat:error"}>} frame */
  #apply(frame) {
    const id = frame.payload.conversation_id;
    const conversation = this.#conversations.get(id);
    if (!conversation) return;
    if (apply(conversation, frame, Date.now()) === "gap") {
      this.#socket.send("chat:snapshot", { conversation_id: id });
      return;
    }
    if (frame.type === "chat:stream-end") {
      const { outcome } = frame.payload;
      announce(outcome === "done" ? "The turn is finished." : `The turn ended: ${outcome}.`);
    }
    if (frame.type === "chat:stream-start" || frame.type === "chat:stream-end") this.#listSoon();
    this.#tell(`c:${id}`);
  }

  /** @param {string} epoch */
  #welcome(epoch) {
    if (this.#epoch && this.#epoch !== epoch) this.#listSoon();
    this.#epoch = epoch;
    for (const unsent of this.#unsent) this.#send(unsent);
  }

  /**
   * A conversation has everything up to now.
   * @param {string} id
   */
  #ready(id) {
    const conversation = this.#conversations.get(id);
    if (!conversation) return;
    conversation.epoch = this.#epoch;
    const last = conversation.turns.at(-1);
    if (last && last.began > 0 && last.ended === 0) {
      // Whether the turn runs or a crash interrupted it, the server knows.
      this.#socket.send("chat:snapshot", { conversation_id: id });
    }
    this.#tell(`c:${id}`);
  }

  /**
   * What was sent and never came is asked for again.
   * @param {Record<string, number>} seqs
   */
  #ping(seqs) {
    for (const [id, seq] of Object.entries(seqs)) {
      const conversation = this.#conversations.get(id);
      if (!conversation || conversation.seq >= seq) continue;
      this.#socket.send("chat:subscribe", {
        conversation_id: id,
        after_seq: conversation.seq,
        inbox: false,
      });
    }
  }

  /** @param {import("./types/frames.js").ErrorFrame} error */
  #error(error) {
    const id = error.conversation_id;
    const unsent = this.#unsent.find((one) => one.request === error.request_id);
    if (unsent) this.#unsent = this.#unsent.filter((one) => one !== unsent);
    const conversation = id ? this.#conversations.get(id) : undefined;
    if (conversation) {
      note(conversation, error.message);
      this.#tell(`c:${conversation.id}`);
    }
    announce(error.message);
  }

  /**
   * @param {Confirm[]} approvals
   * @param {number} total
   */
  #inbox(approvals, total) {
    for (const { approval_id: id, summary } of approvals) {
      if (this.#announced.has(id)) continue;
      this.#announced.add(id);
      announce(`Approval needed: ${summary}`);
    }
    this.inbox = approvals;
    this.inboxTotal = total;
    this.#listSoon();
    this.#tell("inbox");
  }
}

/**
 * Calls a function once, a while after it was asked to.
 * @param {() => void} work
 * @param {number} ms
 * @returns {() => void}
 */
function later(work, ms) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}

export const store = new Store();
