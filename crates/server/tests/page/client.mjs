// A client in Node, with the library that people use: two conversations at once on one socket.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.PAGE_MODULES, "package.json"));
const WebSocket = require("ws");
const { PEER_HOST: host, PEER_TOKEN: token } = process.env;
const headers = { authorization: `Bearer ${token}` };

const limit = setTimeout(() => {
  console.error("nothing came for 30 s");
  process.exit(1);
}, 30_000);

const socket = new WebSocket(`ws://${host}/ws`, { headers });
const send = (type, payload) => socket.send(JSON.stringify({ type, payload }));
const ended = new Map();
const text = new Map();
const confirmed = [];

socket.on("open", () => {
  send("chat:hello", { protocol: 1 });
  for (const id of ["js-1", "js-2"]) send("chat:send", { conversation_id: id, message: "Write." });
});
socket.on("message", (data) => {
  const { type, payload } = JSON.parse(data);
  const id = payload.conversation_id;
  if (type === "chat:tool-confirm") {
    confirmed.push(id);
    const approve = id === "js-1" ? "all" : "none";
    send("chat:tool-approve", { approval_id: payload.approval_id, approve, reason: "Not now, please." });
  }
  if (type === "chat:text-delta") {
    const held = text.get(`${id}/${payload.message_id}`) ?? Buffer.alloc(0);
    // Pieces fit, or they are not applied.
    assert.equal(payload.offset, held.length, JSON.stringify(payload));
    text.set(`${id}/${payload.message_id}`, Buffer.concat([held, Buffer.from(payload.content)]));
  }
  if (type === "chat:message") {
    // Of a text that is on record at once the pieces are not sent: the whole is.
    const held = text.get(`${id}/${payload.message_id}`)?.toString() ?? "";
    assert.ok(payload.content.startsWith(held), payload.content);
  }
  if (type === "chat:tool-result") ended.set(id, payload.kind ?? payload.status);
  if (type === "chat:error") assert.fail(JSON.stringify(payload));
  if (type === "chat:stream-end" && ended.size === 2) socket.close();
});
await new Promise((resolve, reject) => {
  socket.on("close", resolve);
  socket.on("error", reject);
});
assert.deepEqual(confirmed.sort(), ["js-1", "js-2"]);
assert.deepEqual([ended.get("js-1"), ended.get("js-2")], ["success", "user_denied"]);

// Whoever has no token is refused at the handshake, and over HTTP.
const refused = new WebSocket(`ws://${host}/ws`);
const [, response] = await new Promise((resolve) => refused.on("unexpected-response", (...all) => resolve(all)));
assert.equal(response.statusCode, 401);
refused.on("error", () => {});
refused.terminate();
assert.equal((await fetch(`http://${host}/api/me`)).status, 401);
const list = await (await fetch(`http://${host}/api/conversations`, { headers })).json();
assert.equal(list.conversations.length, 2);
clearTimeout(limit);
