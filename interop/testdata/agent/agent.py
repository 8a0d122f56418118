# Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0
"""A tool-calling agent in nothing but the standard library: agent.py PROMPT.

It finds its endpoint and its MCP servers in the environment.
"""
import json
import os
import sys
import urllib.request


def post(url, body, headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as response:
        return response.headers, response.read().decode()


class Server:
    """One MCP server over streamable HTTP."""

    def __init__(self, url):
        self.url, self.last, self.headers = url, 0, {"Accept": "application/json, text/event-stream"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent.py", "version": "1"}})
        self.headers["MCP-Protocol-Version"] = "2025-06-18"
        post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, self.headers)
        self.tools = self.ask("tools/list", {})["tools"]

    def ask(self, method, params):
        self.last += 1
        headers, text = post(self.url, {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}, self.headers)
        if headers.get("Mcp-Session-Id"):
            self.headers["Mcp-Session-Id"] = headers["Mcp-Session-Id"]
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
        answer = json.loads(lines[-1] if lines else text)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]


def call(owners, function):
    try:
        result = owners[function["name"]].ask("tools/call", {"name": function["name"], "arguments": json.loads(function["arguments"])})
        return "".join(part.get("text", "") for part in result["content"])
    except (KeyError, RuntimeError) as error:
        return f"error: {error}"


def main():
    settings = json.loads(os.environ.get("REHEARSE_SETTINGS", "{}"))
    with open(os.environ["MCP_CONFIG"]) as file:
        servers = [Server(entry["url"]) for entry in json.load(file)["mcpServers"].values()]
    owners = {tool["name"]: server for server in servers for tool in server.tools}
    tools = [{"type": "function", "function": {"name": t["name"], "description": t.get("description", ""), "parameters": t["inputSchema"]}} for s in servers for t in s.tools]
    messages = [{"role": "system", "content": settings["system"]}] if settings.get("system") else []
    messages.append({"role": "user", "content": sys.argv[1]})
    while True:
        body = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "temperature": 0, **({"tools": tools} if tools else {})}
        _, text = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
        messages.append(json.loads(text)["choices"][0]["message"])
        if not messages[-1].get("tool_calls"):
            print(messages[-1]["content"])
            return
        for asked in messages[-1]["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": asked["id"], "content": call(owners, asked["function"])})


main()
