"""Two hundred tests with scripts of their own, of which every tenth is wrong."""

import json
import pathlib
import urllib.request

import openai
import pytest


def ask(mock, text):
    client = openai.OpenAI(base_url=mock.url, api_key="none", max_retries=0)
    answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content


def call(mock, tool):
    version, headers = "2025-06-18", {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def send(frame):
        with urllib.request.urlopen(urllib.request.Request(mock.url, json.dumps({"jsonrpc": "2.0"} | frame).encode(), headers)) as response:
            return response.headers, response.read().decode()

    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer, _ = send({"id": 1, "method": "initialize", "params": client})
    headers |= {"Mcp-Session-Id": answer["Mcp-Session-Id"], "MCP-Protocol-Version": version}
    send({"method": "notifications/initialized"})
    return send({"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {}}})[1]


def script(n):
    """A dict, the same in YAML, or a file."""
    inline = f"""
        llm: script {n}
        turns:
          - user: question {n}
            replies: [{{say: answer {n}}}]
    """
    if n % 3 == 0:
        return {"llm": f"script {n}", "turns": [{"user": f"question {n}", "replies": [{"say": f"answer {n}"}]}]}
    if n % 3 == 1:
        return inline
    file = pathlib.Path(__file__).with_name(f"script{n}.yaml")
    file.write_text(inline)
    return pathlib.Path(file.name)


@pytest.mark.parametrize("n", range(160))
def test_model(mock_llm, n):
    mock_llm.load(script(n))
    if n % 20 == 0:
        with pytest.raises(openai.UnprocessableEntityError):
            ask(mock_llm, f"mistake {n}")
    elif n % 20 != 10:
        assert ask(mock_llm, f"question {n}") == f"answer {n}"


@pytest.mark.parametrize("n", range(160, 200))
def test_server(mock_mcp, n):
    mock_mcp.load({"server": f"server{n}", "tools": [{"name": f"tool{n}", "results": [{"text": f"result {n}"}]}]},
                  verify={"calls": [f"tool{n}"], "done": True})
    if n % 10:
        assert f"result {n}" in call(mock_mcp, f"tool{n}")
