"""The official OpenAI client for Python through `rehearse proxy`.

usage: recorded.py plain|stream QUESTION
       recorded.py leave N QUESTION

The endpoint's address and the key come from the environment, and nothing is
set that a user would not set. Runs one conversation with two tools and prints
what it saw as one JSON line; with leave it closes a stream after N parts.
"""

import json
import sys

import openai

TOOLS = [{
    "type": "function",
    "function": {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {argument: {"type": "string"}},
            "required": [argument],
            "additionalProperties": False,
        },
    },
} for name, description, argument in [
    ("get_weather", "The weather of a city.", "location"),
    ("get_time", "The time in a zone.", "zone"),
]]
RESULTS = {"get_weather": "sunny", "get_time": "noon"}


def complete(client, messages, stream):
    request = {"model": "mock", "messages": messages, "tools": TOOLS}
    if not stream:
        return client.chat.completions.create(**request).choices[0].message
    with client.chat.completions.stream(**request) as events:
        for _ in events:
            pass
        return events.get_final_completion().choices[0].message


def converse(client, stream, question):
    messages, ran = [{"role": "user", "content": question}], []
    while True:
        message = complete(client, messages, stream)
        if not message.tool_calls:
            return {"ran": ran, "answer": message.content}
        messages.append(message)
        for call in message.tool_calls:
            ran.append({call.function.name: json.loads(call.function.arguments)})
            messages.append({"role": "tool", "tool_call_id": call.id, "content": RESULTS[call.function.name]})


def leave(client, parts, question):
    texts = []
    stream = client.chat.completions.create(
        model="mock", messages=[{"role": "user", "content": question}], stream=True)
    try:
        for chunk in stream:
            texts.append(chunk.choices[0].delta.content)
            if len(texts) == parts:
                stream.close()
                break
    except Exception as e:  # noqa: BLE001 (which one differs from release to release)
        return {"texts": texts, "broke": True, "error": type(e).__name__}
    return {"texts": texts, "broke": False}


def main():
    client = openai.OpenAI()
    try:
        if sys.argv[1] == "leave":
            saw = leave(client, int(sys.argv[2]), sys.argv[3])
        else:
            saw = converse(client, sys.argv[1] == "stream", sys.argv[2])
    except openai.APIStatusError as e:
        saw = {"status": e.status_code, "message": e.body["message"], "type": e.type}
    print(json.dumps(saw, ensure_ascii=False))


main()
