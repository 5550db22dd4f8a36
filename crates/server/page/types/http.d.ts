// Made from the program's own types. To renew it: UPDATE_DOCUMENTS=1 cargo test -p toolgate-server

/** What became of an answer. */
export type AnswerTaken = {
  /** The question. */
  approval_id: string;
  /** The conversation. */
  conversation_id: string;
  /** Whether other calls of the question are still to be answered. */
  partial: boolean;
};

/** Which calls may run. */
export type Approve = ApproveWord | string[];

/** All calls or none. */
export type ApproveWord = "all" | "none";

/** The turn that a message began. */
export type Begun = {
  /** The conversation. */
  conversation_id: string;
  /** The turn. */
  turn: number;
};

/** The calls of a conversation, in their order. */
export type CallList = {
  calls: CallRow[];
};

/** A call of a conversation. */
export type CallRow = {
  /** Its result. */
  result?: unknown;
  /** `received`, `planned`, `asked`, `running` or `finished`. */
  state: string;
  /** What it does, as a title. */
  summary?: string | null;
  /** The call. */
  tool_id: string;
  /** The tool. */
  tool_name: string;
  /** The turn it belongs to. */
  turn: number;
};

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

/** Conversations, the newest first. */
export type ConversationList = {
  conversations: ConversationRow[];
};

/** A conversation in a list. */
export type ConversationRow = {
  /** Whether a turn runs here. */
  busy: boolean;
  /** The conversation. */
  conversation_id: string;
  /** How many entries the journal has of it; the last `seq`. */
  entries: number;
  /** The user's first words. */
  first_words?: string | null;
  /** When something happened last, in milliseconds since 1970. */
  last_ms: number;
  /** When it began, in milliseconds since 1970. */
  started_ms: number;
  /** How many of its questions wait. */
  waiting: number;
  /** The directory it is about. */
  workspace?: string | null;
};

/** What a conversation is. */
export type ConversationState = {
  /** Whether a turn runs here. */
  busy: boolean;
  /** The conversation. */
  conversation_id: string;
  /** Whether the caller may answer questions. */
  may_approve: boolean;
  /** Whether the caller may send, cancel and undo. */
  may_write: boolean;
  /** The last `seq`. */
  seq: number;
  /** The last turn. */
  turn: number;
  /** The directory it is about. */
  workspace?: string | null;
};

/** Entries in their order. */
export type EntryList = {
  /** The entries. */
  entries: EntryRow[];
  /** Whether more follow. */
  more: boolean;
  /** The clock of the server, in milliseconds since 1970. */
  now_ms: number;
};

/** An entry of the journal. */
export type EntryRow = {
  /** When it was written, in milliseconds since 1970. */
  at_ms: number;
  /** What it says, without known secrets. */
  body?: unknown;
  /** Its hash, in hexadecimal. */
  hash: string;
  /** What it is. */
  kind: string;
  /** Its number in the conversation. */
  seq: number;
  /** The call it is about; empty where it is about none. */
  tool_id: string;
};

/** A session. */
export type Me = {
  /** Whose token this is. */
  name: string;
  /** Whether it is the token of this start. */
  operator: boolean;
  /** What it may do. */
  role: Role;
  /** The directories that conversations may be about. */
  workspaces: string[];
};

/** A call. */
export type NewCall = {
  /** Its arguments. */
  args?: Record<string, unknown>;
  /** The tool, by name or alias. */
  tool: string;
};

/** A conversation to begin. */
export type NewConversation = {
  /** Its id [default: a fresh one]. */
  conversation_id?: string | null;
  /** Which model. */
  model?: string | null;
  /** How the model works. */
  preset?: string | null;
  /** Who answers. */
  provider?: string | null;
  scope?: null | ScopeText;
  /** `supervised`, `guided` or `autonomous`. */
  trust?: string | null;
  /** Whether it is about no directory: its tools are off. */
  without_workspace?: boolean;
  /** The directory it is about [default: the server's]. */
  workspace?: string | null;
};

/** Words of the user. */
export type NewMessage = {
  /** What was said before, where the conversation begins here. */
  history?: ChatMessage[];
  /** The words. */
  message: string;
  /** Sent again, the request has the same answer and nothing is said twice. */
  request_id?: string | null;
};

/** What is undone. */
export type NewUndo = {
  /** Whether it is done; without this, it is only shown. */
  apply?: boolean;
  /** Only what this call did. */
  call?: string | null;
  /** Only what the calls of this turn did. */
  turn?: number | null;
};

/** What a scope says about one tool. */
export type PermissionText = {
  /** Whether the tool may be used. */
  allowed?: boolean;
  /** The only paths it may touch; without any there is no limit. */
  paths?: string[];
  /** The longest a call may take: a whole number and `ms`, `s`, `m` or `h`. */
  timeout?: string | null;
};

/** A problem as it is sent. */
export type ProblemBody = {
  /** What happened, and what to do. */
  detail: string;
  /** The kind of error. */
  kind: string;
  /** The status. */
  status: number;
  /** The status in words. */
  title: string;
  /** A URI that names the kind. */
  type: string;
};

/** What becomes of calls that a crash interrupted. */
export type ResumeChoice = {
  /** `keep` or `discard`; without it, what there is is kept. */
  choice?: string | null;
};

/** What a token is good for. */
export type Role = "owner" | "approver" | "reader";

/** Which tools are permitted, on which paths, for how long. Without permissions: those that only read. */
export type ScopeText = {
  /** Permissions by a tool's name or alias. A tool that is not named is not permitted. */
  permissions?: Record<string, PermissionText>;
};

/** The calls that got a result. */
export type Settled = {
  /** How many. */
  settled: number;
};

/** A ticket for a socket. */
export type Ticket = {
  /** For so long. */
  expires_in_ms: number;
  /** Good once. */
  ticket: string;
};

/** An answer: to one call by `tool_id` and `approved`, or to a whole question by `approval_id` and `approve`. */
export type ToolApprove = {
  /** The question. */
  approval_id?: string | null;
  approve?: null | Approve;
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

/** Everything that waits for an answer of the caller. */
export type Waiting = {
  /** The calls, as in the frame `chat:tool-confirm`. */
  approvals: (Record<string, unknown>)[];
  /** How many there are. */
  total: number;
};
