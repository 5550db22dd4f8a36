"""Holds requests and recorded events against the types of the official SDKs.

In: JSON lines {"name", "wire", "kind": "request" | "event", "body"}.
Out: for each line {"name", "wrong": null | "what is wrong"}.

A body is right if its type takes it, strictly, and nothing of it is lost: what
a type does not know it drops, so a misspelt field shows as a difference.
"""

import json
import sys
from collections.abc import Iterable, Mapping

import ollama._types as ollama
from anthropic.types import RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from anthropic.types.shared import ErrorResponse
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

# The servers know these since 2025; the SDK's type has not followed.
OLLAMA_BEYOND_THE_TYPE = {"id", "tool_call_id"}


def plain(value):
    """What a validated value is as JSON. Iterables are validated here, as they are walked."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain(inner) for inner in value]
    return value


def without_beyond(value):
    if isinstance(value, dict):
        return {
            key: without_beyond(inner)
            for key, inner in value.items()
            if key not in OLLAMA_BEYOND_THE_TYPE
        }
    if isinstance(value, list):
        return [without_beyond(inner) for inner in value]
    return value


def typed_dict(params):
    adapter = TypeAdapter(params)

    def check(body):
        kept = plain(adapter.validate_python(body, strict=True))
        return None if kept == body else f"kept only {kept}"

    return check


def with_images(message):
    # The type holds an image as an object and writes it as its base64.
    if not isinstance(message, dict) or "images" not in message:
        return message
    return {**message, "images": [ollama.Image(value=image) for image in message["images"]]}


def ollama_request(body):
    # Numbers of options and schemas of tools are free-form in the type.
    known = without_beyond({key: body[key] for key in body if key not in ("tools",)})
    request = ollama.ChatRequest.model_validate({**known, "messages": None}, strict=True)
    for tool in body.get("tools", []):
        ollama.Tool.model_validate(tool)
    kept = request.model_dump(exclude_unset=True)
    kept["messages"] = [
        ollama.Message.model_validate(with_images(message), strict=True).model_dump(exclude_unset=True)
        for message in known["messages"]
    ]
    return None if kept == known else f"kept only {kept}"


def model(kind):
    adapter = TypeAdapter(kind)

    def check(body):
        adapter.validate_python(body)
        return None

    return check


def anthropic_event(body):
    if body.get("type") == "ping":
        return None
    kind = ErrorResponse if body.get("type") == "error" else RawMessageStreamEvent
    return model(kind)(body)


CHECKS = {
    ("anthropic", "request"): typed_dict(MessageCreateParamsStreaming),
    ("openai-chat", "request"): typed_dict(CompletionCreateParamsStreaming),
    ("openai-responses", "request"): typed_dict(ResponseCreateParamsStreaming),
    ("ollama", "request"): ollama_request,
    ("anthropic", "event"): anthropic_event,
    ("openai-chat", "event"): model(ChatCompletionChunk),
    ("openai-responses", "event"): model(ResponseStreamEvent),
    ("ollama", "event"): model(ollama.ChatResponse),
}

for line in sys.stdin:
    case = json.loads(line)
    body = case["body"]
    try:
        wrong = CHECKS[case["wire"], case["kind"]](body) if body else "no JSON object"
    except ValidationError as error:
        wrong = str(error)[:2000]
    print(json.dumps({"name": case["name"], "wrong": wrong}))
