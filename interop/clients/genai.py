"""The official Google Gen AI client for Python against `rehearse serve llm`.

usage: genai.py BASE_URL plain|stream MODEL [chat]
       genai.py BASE_URL refused

BASE_URL is without a version, as this client has it. Runs one tool-calling
conversation, kept by hand or by the client's chat, and prints what it saw as
one JSON line.
"""

import json
import sys

from google import genai
from google.genai import errors, types

TOOLS = [types.Tool(function_declarations=[types.FunctionDeclaration(
    name="get_weather",
    description="The weather of a city.",
    parameters_json_schema={
        "type": "object",
        "properties": {"location": {"type": "string"}},
        "required": ["location"],
        "additionalProperties": False,
    },
)])]
CONFIG = types.GenerateContentConfig(
    tools=TOOLS, automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
)
QUESTION = "What is the weather in Paris and in Zürich?"
WEATHER = {"Paris": "sunny", "Zürich": "foggy"}


def parts_of(chunks):
    """The parts of a reply, those of a stream one after the other."""
    chunks = list(chunks)
    end = chunks[-1]
    assert end.candidates[0].finish_reason == types.FinishReason.STOP, end
    assert end.usage_metadata.candidates_token_count > 0 and end.usage_metadata.prompt_token_count > 0, end
    return [p for c in chunks for p in (c.candidates[0].content.parts or []) if p.text != ""]


def said(parts):
    return "".join(p.text for p in parts if p.text and not p.thought)


def results(parts):
    return [
        types.Part(function_response=types.FunctionResponse(
            id=p.function_call.id, name=p.function_call.name,
            response={"result": WEATHER[p.function_call.args["location"]]},
        ))
        for p in parts if p.function_call
    ]


def by_hand(client, stream, model):
    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]

    def ask():
        request = {"model": model, "contents": contents, "config": CONFIG}
        if stream:
            return parts_of(client.models.generate_content_stream(**request))
        return parts_of([client.models.generate_content(**request)])

    first = ask()
    contents.append(types.Content(role="model", parts=first))
    contents.append(types.Content(role="user", parts=results(first)))
    return first, ask()


def by_chat(client, stream, model):
    chat = client.chats.create(model=model, config=CONFIG)

    def ask(message):
        if stream:
            return parts_of(chat.send_message_stream(message))
        return parts_of([chat.send_message(message)])

    first = ask(QUESTION)
    return first, ask(results(first))


def refused(client, model):
    """What the provider refuses comes back as the client's own error."""
    try:
        client.models.generate_content(model=model, contents=[types.Content(role="assistant", parts=[types.Part(text="hi")])])
    except errors.ClientError as e:
        assert e.code == 400 and e.status == "INVALID_ARGUMENT", e
    else:
        raise AssertionError("an unknown role was not refused")


def main():
    client = genai.Client(api_key="unused", http_options=types.HttpOptions(base_url=sys.argv[1]))
    if sys.argv[2] == "refused":
        return refused(client, "mock")
    stream, model = sys.argv[2] == "stream", sys.argv[3]
    models = [m.name for m in client.models.list()]
    assert client.models.count_tokens(model=model, contents=QUESTION).total_tokens > 0
    converse = by_chat if sys.argv[4:] == ["chat"] else by_hand
    first, last = converse(client, stream, model)
    print(json.dumps({
        "models": models, "said": said(first), "calls": [p.function_call.args for p in first if p.function_call],
        "answer": said(last),
    }, ensure_ascii=False))


main()
