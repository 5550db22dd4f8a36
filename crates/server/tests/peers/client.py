"""A client with the libraries that people use: one turn over the socket, the rest over HTTP."""

import asyncio
import json
import os

import httpx
import websockets

HOST = os.environ["PEER_HOST"]
TOKEN = os.environ["PEER_TOKEN"]
HEADERS = {"authorization": f"Bearer {TOKEN}"}


async def frames(socket, until):
    """The frames up to one of this type."""
    seen = []
    async with asyncio.timeout(30):
        while True:
            frame = json.loads(await socket.recv())
            seen.append(frame)
            if frame["type"] == until:
                return seen


def payload(seen, kind):
    return next(frame["payload"] for frame in seen if frame["type"] == kind)


async def send(socket, kind, **payload):
    await socket.send(json.dumps({"type": kind, "payload": payload}))


async def main():
    address = f"ws://{HOST}/ws"
    async with websockets.connect(address, additional_headers=HEADERS) as socket:
        await send(socket, "chat:hello", protocol=1)
        welcome = payload(await frames(socket, "chat:ready"), "chat:welcome")
        assert welcome["protocol"] == 1 and welcome["role"] == "owner", welcome
        await send(socket, "chat:send", conversation_id="py", message="Write.", request_id="r1")
        confirm = payload(await frames(socket, "chat:tool-confirm"), "chat:tool-confirm")
        assert confirm["tool_name"] == "write_file" and confirm["pending"], confirm
        seq = confirm["seq"]
    # The connection is gone, the turn is not: a ticket opens the next one.
    async with httpx.AsyncClient(base_url=f"http://{HOST}", headers=HEADERS) as http:
        ticket = (await http.post("/api/ticket")).json()["ticket"]
        async with websockets.connect(f"{address}?ticket={ticket}") as socket:
            resume = [{"conversation_id": "py", "after_seq": seq - 1, "epoch": welcome["epoch"]}]
            await send(socket, "chat:hello", protocol=1, resume=resume)
            again = payload(await frames(socket, "chat:tool-confirm"), "chat:tool-confirm")
            assert again["plan_hash"] == confirm["plan_hash"], again
            await send(
                socket,
                "chat:tool-approve",
                tool_id="call_1",
                approved=True,
                plan_hash=again["plan_hash"],
            )
            seen = await frames(socket, "chat:stream-end")
            assert payload(seen, "chat:tool-result")["status"] == "success", seen
            assert payload(seen, "chat:stream-end")["outcome"] == "done", seen
            # Said again, it is the same turn.
            await send(socket, "chat:send", conversation_id="py", message="Write.", request_id="r1")
            assert payload(await frames(socket, "chat:accepted"), "chat:accepted")["turn"] == 1
        calls = (await http.get("/api/conversations/py/calls")).json()["calls"]
        assert [call["state"] for call in calls] == ["finished"], calls
        refused = await http.get("/api/conversations/nobody")
        assert refused.status_code == 404, refused
        assert refused.headers["content-type"] == "application/problem+json", refused.headers
        undone = (await http.post("/api/conversations/py/undo", json={"apply": True})).json()
        assert undone["state"] == "done", undone
        # Events for programs that read streams.
        lines = []
        async with http.stream("GET", "/api/conversations/py/events?after=0") as events:
            async for line in events.aiter_lines():
                lines.append(line)
                if '"turn_finished"' in line:
                    break
        assert lines[0] == "id: 1", lines[0]


asyncio.run(main())
