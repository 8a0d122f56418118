"""The official OpenAI client for Python against `rehearse serve llm`.

usage: client.py BASE_URL plain|stream [chat|responses]

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
QUESTION = "What is the weather in Paris and in Zürich?"
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


def respond(client, stream, **request):
    tools = [{"type": "function", "strict": True, **TOOLS[0]["function"]}]
    request = {"model": "mock", "tools": tools, **request}
    if not stream:
        return client.responses.create(**request)
    with client.responses.stream(**request) as events:
        for _ in events:
            pass
        return events.get_final_response()


def responses(client, stream):
    """The conversation with the history kept by the endpoint."""
    first = respond(client, stream, input=QUESTION)
    assert first.status == "completed", first
    assert first.usage.output_tokens > 0 and first.usage.input_tokens > 0, first
    calls = [item for item in first.output if item.type == "function_call"]
    outputs = [{
        "type": "function_call_output",
        "call_id": call.call_id,
        "output": WEATHER[json.loads(call.arguments)["location"]],
    } for call in calls]
    last = respond(client, stream, input=outputs, previous_response_id=first.id)
    assert last.previous_response_id == first.id, last
    return first.output_text, [json.loads(c.arguments) for c in calls], last.output_text


def main():
    client = openai.OpenAI(base_url=sys.argv[1], api_key="unused", max_retries=0)
    stream = sys.argv[2] == "stream"
    models = [m.id for m in client.models.list()]
    if sys.argv[3:] == ["responses"]:
        said, calls, answer = responses(client, stream)
    else:
        said, calls, answer = chat(client, stream)
    print(json.dumps({"models": models, "said": said, "calls": calls, "answer": answer}, ensure_ascii=False))


def chat(client, stream):
    messages = [{"role": "user", "content": QUESTION}]
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
    return choice.message.content, [json.loads(c.function.arguments) for c in calls], last.message.content


main()
