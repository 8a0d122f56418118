"""Tests with a script of their own each. With MOCK they load and verify it by hand, at a mock with that address."""

import json
import os
import urllib.request

import openai
import pytest

MOCK = os.environ.get("MOCK")


def ask(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read() or "{}")


@pytest.fixture
def url(request, n):
    script = {"llm": "bench", "turns": [{"user": f"question {n}", "replies": [{"say": "Sunny."}]}]}
    if not MOCK:
        yield request.getfixturevalue("mock_llm").load(script).url
        return
    ask(f"{MOCK}/t/{n}/rehearse/load", script)
    yield f"{MOCK}/t/{n}/v1"
    assert ask(f"{MOCK}/t/{n}/rehearse/verify", {"done": True})["passed"]


@pytest.mark.parametrize("n", range(200))
def test_ask(url, n):
    model = openai.OpenAI(base_url=url, api_key="none")
    answer = model.chat.completions.create(model="m", messages=[{"role": "user", "content": f"question {n}"}])
    assert answer.choices[0].message.content == "Sunny."
