"""The official OpenAI client for Python against `rehearse serve llm`.

usage: client.py BASE_URL plain|stream

Runs one tool-calling conversation and prints what it saw as one JSON line.
"""

import json
import sys

import openai

TOOLS = [{
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string"}},
            "required": ["location"],
            "additionalProperties": False,
        },
    },
}]
WEATHER = {"Paris": "sunny", "Zürich": "foggy"}


def complete(client, messages, stream):
    if not stream:
        reply = client.chat.completions.create(model="mock", messages=messages, tools=TOOLS)
        return reply.choices[0], reply.usage
    with client.chat.completions.stream(
        model="mock", messages=messages, tools=TOOLS, stream_options={"include_usage": True}
    ) as events:
        for _ in events:
            pass
        reply = events.get_final_completion()
        return reply.choices[0], reply.usage


def main():
    client = openai.OpenAI(base_url=sys.argv[1], api_key="unused", max_retries=0)
    stream = sys.argv[2] == "stream"
    models = [m.id for m in client.models.list()]
    messages = [{"role": "user", "content": "What is the weather in Paris and in Zürich?"}]
    choice, usage = complete(client, messages, stream)
    assert choice.finish_reason == "tool_calls", choice
    assert usage.completion_tokens > 0 and usage.prompt_tokens > 0, usage
    calls = choice.message.tool_calls
    messages.append(choice.message)
    for call in calls:
        place = json.loads(call.function.arguments)["location"]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": WEATHER[place]})
    last, usage = complete(client, messages, stream)
    assert last.finish_reason == "stop", last
    print(json.dumps({
        "models": models,
        "said": choice.message.content,
        "calls": [json.loads(c.function.arguments) for c in calls],
        "answer": last.message.content,
    }, ensure_ascii=False))


main()
