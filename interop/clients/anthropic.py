"""The official Anthropic client for Python against `rehearse serve llm`.

usage: anthropic.py BASE_URL plain|stream [thinking]
       anthropic.py BASE_URL refused

BASE_URL is without /v1, as this client has it. Runs one tool-calling
conversation and prints what it saw as one JSON line.
"""

import json
import sys

# This file has the name of the package: it must not be found in its place.
sys.path.pop(0)

import anthropic  # noqa: E402

TOOLS = [{
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"location": {"type": "string"}},
        "required": ["location"],
        "additionalProperties": False,
    },
}]
QUESTION = "What is the weather in Paris and in Zürich?"
WEATHER = {"Paris": "sunny", "Zürich": "foggy"}


def complete(client, messages, stream, settings):
    request = {"model": "mock", "max_tokens": 2048, "messages": messages, "tools": TOOLS, **settings}
    if not stream:
        return client.messages.create(**request)
    with client.messages.stream(**request) as events:
        for _ in events:
            pass
        return events.get_final_message()


def said(message):
    return "".join(block.text for block in message.content if block.type == "text")


def main():
    client = anthropic.Anthropic(base_url=sys.argv[1], api_key="unused", max_retries=0)
    if sys.argv[2] == "refused":
        return refused(client)
    stream = sys.argv[2] == "stream"
    settings = {}
    if sys.argv[3:] == ["thinking"]:
        settings["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    models = [m.id for m in client.models.list()]
    messages = [{"role": "user", "content": QUESTION}]
    count = client.messages.count_tokens(model="mock", messages=messages, tools=TOOLS).input_tokens
    first = complete(client, messages, stream, settings)
    assert first.stop_reason == "tool_use", first
    assert first.usage.input_tokens == count and first.usage.output_tokens > 0, (first, count)
    assert (first.content[0].type == "thinking") == bool(settings), first
    calls = [block for block in first.content if block.type == "tool_use"]
    messages.append({"role": "assistant", "content": first.content})
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call.id, "content": WEATHER[call.input["location"]]} for call in calls
    ]})
    last = complete(client, messages, stream, settings)
    assert last.stop_reason == "end_turn", last
    print(json.dumps({
        "models": models, "said": said(first), "calls": [c.input for c in calls], "answer": said(last),
    }, ensure_ascii=False))


def refused(client):
    """What the provider refuses comes back as the client's own error."""
    try:
        client.messages.create(model="mock", max_tokens=5, messages=[{"role": "assistant", "content": "hi"}])
    except anthropic.BadRequestError as e:
        assert e.body["error"]["type"] == "invalid_request_error" and e.request_id, e
    else:
        raise AssertionError("an assistant message came first, and was not refused")


main()
