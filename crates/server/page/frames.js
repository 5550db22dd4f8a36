/**
 * From frames to the state of a conversation. No node and no network here.
 * @module
 */

import { add, keepEnd, nothing, restart, size } from "./pieces.js";

/**
 * @typedef {import("./types/frames.js").ServerFrame} ServerFrame
 * @typedef {import("./types/frames.js").Confirm} Confirm
 * @typedef {import("./types/frames.js").Snapshot} Snapshot
 * @typedef {import("./types/frames.js").ToolResultFrame} ToolResult
 * @typedef {import("./types/frames.js").ToolStart} ToolStart
 * @typedef {import("./types/frames.js").ApprovalResolved} Resolved
 * @typedef {import("./types/frames.js").StreamEnd} StreamEnd
 * @typedef {import("./pieces.js").Held} Held
 */

/**
 * @typedef {object} UserItem
 * @property {"user"} kind
 * @property {string} key
 * @property {string} text
 */
/**
 * @typedef {object} AnswerItem
 * @property {"answer"} kind
 * @property {string} key
 * @property {string} id
 * @property {Held} text
 * @property {Held} thinking
 * @property {boolean} done
 * @property {string} stop
 * @property {number} seq
 */
/**
 * @typedef {object} CallItem
 * @property {"call"} kind
 * @property {string} key
 * @property {string} id
 * @property {string} tool
 * @property {"received" | "planned" | "asked" | "running" | "finished"} state
 * @property {string} summary
 * @property {unknown} input
 * @property {string} reason
 * @property {string} risk
 * @property {Confirm | null} confirm
 * @property {Resolved | null} resolved
 * @property {Held} output
 * @property {number} missed how many bytes of the output were before what is held
 * @property {ToolResult | null} result
 * @property {{received: number, asked: number, answered: number, started: number, finished: number}} seqs
 */
/**
 * @typedef {object} EndItem
 * @property {"end"} kind
 * @property {string} key
 * @property {StreamEnd} end
 */
/**
 * @typedef {object} NoteItem
 * @property {"note"} kind
 * @property {string} key
 * @property {string} text
 */
/** @typedef {UserItem | AnswerItem | CallItem | EndItem | NoteItem} Item */

/**
 * @typedef {object} Turn
 * @property {number} number
 * @property {string} provider
 * @property {string} model
 * @property {Item[]} items
 * @property {number} began the entry
 * @property {number} ended the entry; 0 while it runs
 */

/**
 * @typedef {object} Conversation
 * @property {string} id
 * @property {number} seq the last entry that was applied
 * @property {string | null} epoch
 * @property {"idle" | "running" | "interrupted"} state
 * @property {Turn[]} turns
 * @property {Map<number, number>} times when entries came here, by the clock of this machine
 * @property {number} notes
 */

/** So much of a running call's output is held. */
const OUTPUT = 64 * 1024;

/**
 * @param {string} id
 * @returns {Conversation}
 */
export function begin(id) {
  return { id, seq: 0, epoch: null, state: "idle", turns: [], times: new Map(), notes: 0 };
}

/**
 * The calls of a turn.
 * @param {Turn} turn
 * @returns {CallItem[]}
 */
export function callsOf(turn) {
  return turn.items.filter((item) => item.kind === "call");
}

/**
 * The calls that wait for an answer, by question.
 * @param {Conversation} conversation
 * @returns {Map<string, Confirm[]>}
 */
export function waiting(conversation) {
  /** @type {Map<string, Confirm[]>} */
  const questions = new Map();
  for (const turn of conversation.turns) {
    for (const { state, confirm } of callsOf(turn)) {
      if (state !== "asked" || !confirm?.pending) continue;
      const known = questions.get(confirm.approval_id) ?? [];
      known.push(confirm);
      questions.set(confirm.approval_id, known);
    }
  }
  return questions;
}

/**
 * Applies a frame of this conversation.
 * @param {Conversation} conversation
 * @param {ServerFrame} frame
 * @param {number} now
 * @returns {"applied" | "ignored" | "gap"}
 */
export function apply(conversation, frame, now) {
  const { type, payload } = frame;
  const seq = "seq" in payload && typeof payload.seq === "number" ? payload.seq : 0;
  if (type === "chat:snapshot") {
    snapshot(conversation, payload);
    return "applied";
  }
  if (seq > 0) {
    // The calls of one question have one entry.
    const isKnown = type === "chat:tool-confirm" ? seq < conversation.seq : seq <= conversation.seq;
    if (isKnown) return "ignored";
    conversation.seq = seq;
    conversation.times.set(seq, now);
  }
  switch (type) {
    case "chat:stream-start":
      conversation.state = "running";
      conversation.turns.push({
        number: payload.turn,
        provider: payload.provider,
        model: payload.model,
        items: [],
        began: seq,
        ended: 0,
      });
      break;
    case "chat:user-message":
      last(conversation).items.push({ kind: "user", key: `u${seq}`, text: payload.content });
      break;
    case "chat:text-delta":
    case "chat:thinking-delta": {
      const answer = answerOf(conversation, payload.message_id);
      if (answer.done) return "ignored";
      const held = type === "chat:text-delta" ? answer.text : answer.thinking;
      return add(held, payload.offset, payload.content);
    }
    case "chat:message": {
      const answer = answerOf(conversation, payload.message_id);
      answer.text = { text: payload.content, end: size(payload.content) };
      const thinking = payload.thinking ?? "";
      answer.thinking = { text: thinking, end: size(thinking) };
      answer.done = true;
      answer.stop = payload.stop;
      answer.seq = seq;
      break;
    }
    case "chat:tool-received": {
      const call = fresh(conversation, payload.message_id, payload.tool_id, payload.tool_name);
      call.seqs.received = seq;
      break;
    }
    case "chat:tool-planned": {
      const call = callOf(conversation, payload);
      call.state = "planned";
      call.tool = payload.tool_name;
      call.summary = payload.summary;
      call.reason = payload.reason;
      call.risk = payload.risk;
      break;
    }
    case "chat:tool-confirm":
      confirm(callOf(conversation, payload), payload, seq);
      break;
    case "chat:approval-resolved":
      for (const call of last(conversation).items) {
        if (call.kind !== "call" || call.confirm?.approval_id !== payload.approval_id) continue;
        call.resolved = payload;
        call.confirm = { ...call.confirm, pending: false, may_answer: false };
        if (call.state === "asked") call.state = "planned";
        call.seqs.answered = seq;
      }
      break;
    case "chat:tool-start":
      started(callOf(conversation, payload), payload, seq);
      break;
    case "chat:tool-delta": {
      const call = callOf(conversation, payload);
      if (call.state === "finished") return "ignored";
      if (payload.offset > call.output.end) {
        // Of a long output the end is enough, until the result comes.
        call.missed = payload.offset;
        restart(call.output, payload.offset, payload.chunk);
      } else if (add(call.output, payload.offset, payload.chunk) === "ignored") return "ignored";
      keepEnd(call.output, OUTPUT);
      break;
    }
    case "chat:tool-result": {
      const call = callOf(conversation, payload);
      call.state = "finished";
      call.tool = payload.tool_name;
      call.result = payload;
      call.output = nothing();
      call.seqs.finished = seq;
      break;
    }
    case "chat:stream-end": {
      const turn = last(conversation);
      turn.items.push({ kind: "end", key: `e${seq}`, end: payload });
      turn.ended = seq;
      conversation.state = "idle";
      break;
    }
    case "chat:entry-missing":
      note(conversation, `${payload.entry}: its content is gone (${payload.reason})`);
      break;
    case "chat:error":
      note(conversation, payload.message);
      break;
    default:
      return "ignored";
  }
  return "applied";
}

/**
 * @param {Conversation} conversation
 * @param {string} text
 */
export function note(conversation, text) {
  conversation.notes += 1;
  last(conversation).items.push({ kind: "note", key: `n${conversation.notes}`, text });
}

/**
 * The turn that runs or ran last.
 * @param {Conversation} conversation
 * @returns {Turn}
 */
function last(conversation) {
  const known = conversation.turns.at(-1);
  if (known) return known;
  const turn = { number: 0, provider: "", model: "", items: [], began: 0, ended: 0 };
  conversation.turns.push(turn);
  return turn;
}

/**
 * @param {Conversation} conversation
 * @param {string} id
 * @returns {AnswerItem}
 */
function answerOf(conversation, id) {
  const turn = last(conversation);
  // Entries of older versions name the turn only: an answer that is complete is another one.
  const named = turn.items.findLast((item) => item.kind === "answer" && item.id === id);
  if (named?.kind === "answer" && (!named.done || !id.startsWith("turn_"))) return named;
  /** @type {AnswerItem} */
  const answer = {
    kind: "answer",
    key: `a${id}/${turn.items.length}`,
    id,
    text: nothing(),
    thinking: nothing(),
    done: false,
    stop: "",
    seq: 0,
  };
  turn.items.push(answer);
  return answer;
}

/**
 * @param {Conversation} conversation
 * @param {string} message
 * @param {string} id
 * @param {string} tool
 * @returns {CallItem}
 */
function fresh(conversation, message, id, tool) {
  const turn = last(conversation);
  /** @type {CallItem} */
  const call = {
    kind: "call",
    key: `c${message}/${id}/${turn.items.length}`,
    id,
    tool,
    state: "received",
    summary: "",
    input: null,
    reason: "",
    risk: "",
    confirm: null,
    resolved: null,
    output: nothing(),
    missed: 0,
    result: null,
    seqs: { received: 0, asked: 0, answered: 0, started: 0, finished: 0 },
  };
  turn.items.push(call);
  return call;
}

/**
 * The call that a frame is about: models use ids again, so the last one is meant.
 * @param {Conversation} conversation
 * @param {{tool_id: string, tool_name?: string, message_id: string}} of
 * @returns {CallItem}
 */
function callOf(conversation, of) {
  const known = knownCall(conversation, of.tool_id);
  return known ?? fresh(conversation, of.message_id, of.tool_id, of.tool_name ?? "");
}

/**
 * @param {Conversation} conversation
 * @param {string} id
 * @returns {CallItem | undefined}
 */
function knownCall(conversation, id) {
  const calls = callsOf(last(conversation)).filter((call) => call.id === id);
  return calls.findLast((call) => call.state !== "finished") ?? calls.at(-1);
}

/**
 * @param {CallItem} call
 * @param {Confirm} question
 * @param {number} seq
 */
function confirm(call, question, seq) {
  call.confirm = question;
  call.tool = question.tool_name;
  call.summary = question.summary;
  call.input = question.input;
  call.risk = question.risk;
  if (seq > 0) call.seqs.asked = seq;
  if (question.pending && (call.state === "received" || call.state === "planned")) call.state = "asked";
}

/**
 * @param {CallItem} call
 * @param {ToolStart} start
 * @param {number} seq
 */
function started(call, start, seq) {
  call.state = "running";
  call.tool = start.tool_name;
  call.input = start.input;
  if (seq > 0) call.seqs.started = seq;
}

/**
 * Takes the state over. What was streamed and is not in it was never said.
 * @param {Conversation} conversation
 * @param {Snapshot} state
 */
function snapshot(conversation, state) {
  if (state.reset) {
    conversation.turns = [];
    conversation.times.clear();
    conversation.seq = 0;
  }
  conversation.epoch = state.epoch;
  conversation.state = state.state;
  const open = state.message?.message_id ?? state.thinking?.message_id;
  for (const turn of conversation.turns) {
    turn.items = turn.items.filter((item) => item.kind !== "answer" || item.done || item.id === open);
  }
  for (const [piece, which] of /** @type {const} */ ([
    [state.thinking, "thinking"],
    [state.message, "text"],
  ])) {
    if (!piece) continue;
    const answer = answerOf(conversation, piece.message_id);
    if (!answer.done) restart(answer[which], piece.offset, piece.content);
  }
  for (const running of state.calls) {
    // One that is not known yet follows in the replay.
    const call = knownCall(conversation, running.start.tool_id);
    if (!call || call.state === "finished") continue;
    started(call, running.start, 0);
    call.missed = running.offset;
    restart(call.output, running.offset, running.tail);
  }
  const waits = new Set(state.approvals.map((one) => `${one.approval_id}/${one.tool_id}`));
  for (const turn of conversation.turns) {
    for (const call of callsOf(turn)) {
      if (!call.confirm?.pending || waits.has(`${call.confirm.approval_id}/${call.id}`)) continue;
      call.confirm = { ...call.confirm, pending: false, may_answer: false };
      if (call.state === "asked") call.state = "planned";
    }
  }
  for (const question of state.approvals) {
    const call = knownCall(conversation, question.tool_id);
    if (call) confirm(call, question, 0);
  }
}
