// Made from the program's own types. To renew it: UPDATE_DOCUMENTS=1 cargo test -p toolgate-server

/** A message was taken. */
export type Accepted = {
  /** The conversation. */
  conversation_id: string;
  /** The client's name of the request. */
  request_id?: string | null;
  /** The turn that it began. */
  turn: number;
};

/** A question is over. */
export type ApprovalResolved = {
  /** The question. */
  approval_id: string;
  /** The calls that may run. */
  approved: string[];
  /** Who answered. */
  by: string;
  /** The conversation. */
  conversation_id: string;
  /** The calls that may not. */
  denied: string[];
  /** `approved`, `denied`, `partly_approved` or `unanswered`. */
  outcome: string;
  /** The approver's words, or why there is no answer. */
  reason?: string | null;
  /** How long the answer is remembered. */
  scope: string;
  /** The entry. */
  seq?: number | null;
};

/** Which calls may run. */
export type Approve = ApproveWord | string[];

/** All calls or none. */
export type ApproveWord = "all" | "none";

/** A message of a history. */
export type ChatMessage = {
  /** The words. */
  content?: string;
  /** `user`, `assistant` or `tool`. */
  role: string;
  /** The calls of an assistant. */
  tool_calls?: unknown[];
  /** The result of a tool. */
  tool_result?: unknown;
};

/** A frame from a client. Unknown types and fields are refused. */
export type ClientFrame = {
  payload: Hello;
  type: "chat:hello";
} | {
  payload: Subscribe;
  type: "chat:subscribe";
} | {
  payload: Select;
  type: "chat:unsubscribe";
} | {
  payload: Send;
  type: "chat:send";
} | {
  payload: Select;
  type: "chat:cancel";
} | {
  payload: ToolApprove;
  type: "chat:tool-approve";
} | {
  payload: Select;
  type: "chat:snapshot";
} | {
  payload: Resume;
  type: "chat:resume";
};

/** A call that needs approval. The texts are what an approver decides by; only `model_reason` is the model's own words. */
export type Confirm = {
  /** The question that the call belongs to. */
  approval_id: string;
  /** The conversation. */
  conversation_id: string;
  /** Directories beyond the sandbox that the call would need. */
  could_open: string[];
  /** How many calls the question has. */
  count: number;
  /** What it does, in words, the gravest first. */
  effects: string[];
  /** When it expires whoever watches, in milliseconds since 1970. */
  expires_at?: number | null;
  /** How long it waits while no approver watches the conversation. */
  expires_unwatched_ms?: number | null;
  /** Which call of the question this is, from 0. */
  index: number;
  /** The arguments. */
  input: unknown;
  /** What it touches. */
  locations: string[];
  /** Whether this client may answer. */
  may_answer: boolean;
  /** The answer that has the call. */
  message_id: string;
  /** What the model says about it. */
  model_reason?: string | null;
  /** Whether it waits: a question of an earlier run, and one that was answered, does not. */
  pending: boolean;
  /** What the answer is bound to. */
  plan_hash: string;
  /** The diff or text to look at. */
  preview?: string | null;
  /** Whether something is missing from the preview because it was too long. */
  preview_cut: boolean;
  /** How much harm it can do. */
  risk: string;
  /** The entry. */
  seq?: number | null;
  /** What the call will do, as a title. */
  summary: string;
  /** The call. */
  tool_id: string;
  /** The tool's canonical name. */
  tool_name: string;
  /** Every argument that the preview does not show, whole. */
  whole: string;
  /** Why the user is asked. */
  why: string;
  /** Examples of calls that the remembered rule would allow. */
  would_cover: string[];
  /** What the sandbox will refuse of it after a plain yes, and why. */
  would_fail: string[];
  /** What "always" would remember. */
  would_remember: string[];
};

/** An entry of the journal cannot be read any more. */
export type EntryMissing = {
  /** The conversation. */
  conversation_id: string;
  /** The entry's kind. */
  entry: string;
  /** Why. */
  reason: string;
  /** The entry. */
  seq?: number | null;
};

/** Something was refused or went wrong. */
export type ErrorFrame = {
  /** The conversation. */
  conversation_id?: string | null;
  /** What kind of error. */
  kind: string;
  /** What happened, and what to do. */
  message: string;
  /** The client's name of the request. */
  request_id?: string | null;
};

/** What a client knows when it comes (back). */
export type Hello = {
  /** The version it speaks. */
  protocol: number;
  /** The conversations it goes on with. */
  resume?: ResumeAt[];
};

/** Everything that waits for an answer and that this client may see. */
export type Inbox = {
  /** The calls, in the order of their questions. */
  approvals: Confirm[];
  /** How many there are; more than are listed where there are very many. */
  total: number;
};

/** An answer is complete. */
export type Message = {
  /** All of its text. */
  content: string;
  /** The conversation. */
  conversation_id: string;
  /** The answer. */
  message_id: string;
  /** The entry. */
  seq?: number | null;
  /** Why the model stopped. */
  stop: string;
  /** All of its thinking. */
  thinking: string;
  /** What it cost. */
  usage?: unknown;
};

/** The server is there. */
export type Ping = {
  /** The last `seq` that was sent of each conversation that is followed. */
  seqs: Record<string, number>;
};

/** What was caught up with. */
export type Ready = {
  /** The conversations. */
  conversation_ids: string[];
};

/** What becomes of a turn that a crash interrupted. */
export type Resume = {
  /** `keep`: the model is told what is known of each call. `discard`: that nothing counts. */
  choice?: string | null;
  /** The conversation. */
  conversation_id: string;
};

/** How far a client knows a conversation. */
export type ResumeAt = {
  /** The last `seq` that it applied. */
  after_seq?: number;
  /** The conversation. */
  conversation_id: string;
  /** The epoch of the server that told it so. */
  epoch?: string | null;
};

/** What a token is good for. */
export type Role = "owner" | "approver" | "reader";

/** A call that runs. */
export type RunningCall = {
  /** Where the output below begins, in bytes. */
  offset: number;
  /** How it began. */
  start: ToolStart;
  /** The last of its output. */
  tail: string;
};

/** A conversation. */
export type Select = {
  /** The conversation. */
  conversation_id: string;
};

/** Words of the user. */
export type Send = {
  /** The conversation. */
  conversation_id: string;
  /** What was said before, where the conversation begins here. The journal of one that is there already has it. */
  history?: ChatMessage[];
  /** The words. */
  message: string;
  /** A name of this request: sent again, it has the same answer and nothing is said twice. */
  request_id?: string | null;
};

/** A frame from the server. */
export type ServerFrame = {
  payload: Welcome;
  type: "chat:welcome";
} | {
  payload: Ready;
  type: "chat:ready";
} | {
  payload: Accepted;
  type: "chat:accepted";
} | {
  payload: StreamStart;
  type: "chat:stream-start";
} | {
  payload: UserMessage;
  type: "chat:user-message";
} | {
  payload: TextDelta;
  type: "chat:text-delta";
} | {
  payload: TextDelta;
  type: "chat:thinking-delta";
} | {
  payload: Message;
  type: "chat:message";
} | {
  payload: ToolReceived;
  type: "chat:tool-received";
} | {
  payload: ToolPlanned;
  type: "chat:tool-planned";
} | {
  payload: Confirm;
  type: "chat:tool-confirm";
} | {
  payload: ApprovalResolved;
  type: "chat:approval-resolved";
} | {
  payload: ToolStart;
  type: "chat:tool-start";
} | {
  payload: ToolDelta;
  type: "chat:tool-delta";
} | {
  payload: ToolResultFrame;
  type: "chat:tool-result";
} | {
  payload: StreamEnd;
  type: "chat:stream-end";
} | {
  payload: EntryMissing;
  type: "chat:entry-missing";
} | {
  payload: Snapshot;
  type: "chat:snapshot";
} | {
  payload: Inbox;
  type: "chat:inbox";
} | {
  payload: Ping;
  type: "chat:ping";
} | {
  payload: ErrorFrame;
  type: "chat:error";
};

/** The state of a conversation, where a replay alone does not give it. */
export type Snapshot = {
  /** The questions that wait, whole. */
  approvals: Confirm[];
  /** Whether the client was too slow and missed streamed pieces. */
  behind: boolean;
  /** The calls that run. */
  calls: RunningCall[];
  /** The conversation. */
  conversation_id: string;
  /** The epoch of this server. */
  epoch: string;
  /** The answer that comes in, from its beginning. */
  message?: TextDelta | null;
  /** Whether the client has to forget what it holds: the journal is another one. */
  reset: boolean;
  /** The last entry that this state contains. */
  seq: number;
  /** Where the conversation stands. */
  state: SnapshotState;
  /** Its thinking, from its beginning. */
  thinking?: TextDelta | null;
  /** The turn that runs or ran last. */
  turn: number;
};

/** Where a conversation stands. */
export type SnapshotState = "idle" | "running" | "interrupted";

/** A turn is over. */
export type StreamEnd = {
  /** The conversation. */
  conversation_id: string;
  /** What went wrong. */
  error?: string | null;
  /** The turn, as in `chat:stream-start`. */
  message_id: string;
  /** `done`, `results_wanted`, `max_iterations`, `cancelled` or `failed`. */
  outcome: string;
  /** Whether the answer breaks off: the turn was cancelled or failed. */
  partial: boolean;
  /** The entry. */
  seq?: number | null;
  /** Why the model stopped. */
  stop?: string | null;
  /** The turn's number. */
  turn: number;
  /** What all answers cost together. */
  usage?: unknown;
};

/** A turn begins. */
export type StreamStart = {
  /** The conversation. */
  conversation_id: string;
  /** The turn, as a message; its answers have names of their own. */
  message_id: string;
  /** The model. */
  model: string;
  /** The provider. */
  provider: string;
  /** The entry. */
  seq?: number | null;
  /** The turn's number. */
  turn: number;
};

/** What is followed. */
export type Subscribe = {
  /** The last `seq` that is known [default: 0]. */
  after_seq?: number;
  /** The conversation. */
  conversation_id?: string | null;
  /** Whether the questions of all conversations are sent. */
  inbox?: boolean;
};

/** A piece of text. */
export type TextDelta = {
  /** The piece. */
  content: string;
  /** The conversation. */
  conversation_id: string;
  /** The answer. */
  message_id: string;
  /** How many bytes came before. */
  offset: number;
};

/** An answer: to one call by `tool_id` and `approved`, or to a whole question by `approval_id` and `approve`. */
export type ToolApprove = {
  /** The question. */
  approval_id?: string | null;
  /** Which of its calls may run. */
  approve?: Approve | null;
  /** Whether it may run. */
  approved?: boolean | null;
  /** The conversation; needed where two questions have a call of this id. */
  conversation_id?: string | null;
  /** The plan that was shown of this call. */
  plan_hash?: string | null;
  /** The plans that were shown, by call. */
  plan_hashes?: Record<string, string>;
  /** What the model is told about a no. */
  reason?: string | null;
  /** How long a yes is remembered: `once`, `conversation` or `project`. */
  remember?: string | null;
  /** A name of this request, repeated in its answer. */
  request_id?: string | null;
  /** The call. */
  tool_id?: string | null;
};

/** A piece of a call's output. */
export type ToolDelta = {
  /** The piece. */
  chunk: string;
  /** The conversation. */
  conversation_id: string;
  /** The answer that has the call. */
  message_id: string;
  /** How many bytes of the call's output came before. */
  offset: number;
  /** `stdout` or `stderr`. */
  stream: string;
  /** The call. */
  tool_id: string;
};

/** A call was planned. */
export type ToolPlanned = {
  /** The conversation. */
  conversation_id: string;
  /** What the rules say: `allow`, `ask` or `deny`. */
  decision: string;
  /** The answer that has the call. */
  message_id: string;
  /** What an answer is bound to. */
  plan_hash: string;
  /** Why. */
  reason: string;
  /** How much harm it can do. */
  risk: string;
  /** The entry. */
  seq?: number | null;
  /** What it will do, as a title. */
  summary: string;
  /** The call. */
  tool_id: string;
  /** The tool's canonical name. */
  tool_name: string;
};

/** A call arrived. */
export type ToolReceived = {
  /** The conversation. */
  conversation_id: string;
  /** The answer that has the call. */
  message_id: string;
  /** The entry. */
  seq?: number | null;
  /** The call. */
  tool_id: string;
  /** The tool as the model named it. */
  tool_name: string;
};

/** A call has its result. */
export type ToolResultFrame = {
  /** The conversation. */
  conversation_id: string;
  /** What the user sees, short. */
  display?: string | null;
  /** How long it ran. */
  duration_ms: number;
  /** Why not, where the status is `error`. */
  kind?: string | null;
  /** The answer that has the call. */
  message_id: string;
  /** Facts about the run. */
  metadata: unknown;
  /** The whole output, for `read_output`. */
  output_handle?: string | null;
  /** What the model gets. */
  result: string;
  /** The entry. */
  seq?: number | null;
  /** `success` or `error`. */
  status: string;
  /** The call. */
  tool_id: string;
  /** The tool's canonical name. */
  tool_name: string;
  /** Whether the result was cut. */
  truncated: boolean;
};

/** A call begins to run. */
export type ToolStart = {
  /** The conversation. */
  conversation_id: string;
  /** The arguments. */
  input: unknown;
  /** The answer that has the call. */
  message_id: string;
  /** The entry. */
  seq?: number | null;
  /** The call. */
  tool_id: string;
  /** The tool's canonical name. */
  tool_name: string;
};

/** The user said something. */
export type UserMessage = {
  /** The words. */
  content: string;
  /** The conversation. */
  conversation_id: string;
  /** The entry. */
  seq?: number | null;
};

/** What a client has to know. */
export type Welcome = {
  /** Changes with every start of the server. */
  epoch: string;
  /** How often `chat:ping` comes. A client that hears nothing for 2.5 times as long reconnects. */
  heartbeat_ms: number;
  /** What is accepted. */
  limits: WelcomeLimits;
  /** Whose token this is. */
  name: string;
  /** The version of the protocol. */
  protocol: number;
  /** What it may do. */
  role: Role;
};

/** What is accepted. */
export type WelcomeLimits = {
  /** The most bytes of a frame. */
  frame_bytes: number;
  /** The most conversations that one connection follows. */
  subscriptions: number;
};
