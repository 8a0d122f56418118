"""The official Anthropic client for Python through `rehearse proxy`.

usage: recorded_anthropic.py plain|stream QUESTION

As recorded.py.
"""

import json
import sys

# A neighbour of this file has the name of the package.
sys.path.pop(0)

import anthropic  # noqa: E402

TOOLS = [{
    "name": name,
    "description": description,
    "input_schema": {
        "type": "object",
        "properties": {argument: {"type": "string"}},
        "required": [argument],
        "additionalProperties": False,
    },
} for name, description, argument in [
    ("get_weather", "The weather of a city.", "location"),
    ("get_time", "The time in a zone.", "zone"),
]]
RESULTS = {"get_weather": "sunny", "get_time": "noon"}


def complete(client, messages, stream):
    request = {"model": "mock", "max_tokens": 1024, "messages": messages, "tools": TOOLS}
    if not stream:
        return client.messages.create(**request)
    with client.messages.stream(**request) as events:
        for _ in events:
            pass
        return events.get_final_message()


def converse(client, stream, question):
    messages, ran = [{"role": "user", "content": question}], []
    while True:
        message = complete(client, messages, stream)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return {"ran": ran, "answer": "".join(b.text for b in message.content if b.type == "text")}
        ran += [{call.name: call.input} for call in calls]
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": RESULTS[call.name]} for call in calls
        ]})


def main():
    client = anthropic.Anthropic()
    try:
        saw = converse(client, sys.argv[1] == "stream", sys.argv[2])
    except anthropic.APIStatusError as e:
        saw = {"status": e.status_code, "message": e.body["error"]["message"], "type": e.body["error"]["type"]}
    print(json.dumps(saw, ensure_ascii=False))


main()
