# Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0
"""A tool-calling agent that can be told to be wrong: faulty.py [--SWITCH] PROMPT.

Without a switch it behaves well. Each switch is one mistake; docs/subjects.md
says which check finds it. It needs nothing but the standard library.
"""
import http.client
import json
import os
import sys
import urllib.error
import urllib.request

FAULTS = ["drops-second-call", "wrong-ids", "swallows-cut", "runs-twice", "rewrites-history", "ignores-limits", "leaks-sessions"]


def post(url, body, headers, method="POST"):
    request = urllib.request.Request(url, body and json.dumps(body).encode(), {"Content-Type": "application/json", **headers}, method=method)
    with urllib.request.urlopen(request) as response:
        return response.headers, response.read().decode()


class Server:
    """One session with an MCP server over streamable HTTP."""

    def __init__(self, url):
        self.url, self.last, self.headers = url, 0, {"Accept": "application/json, text/event-stream"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "faulty.py", "version": "1"}})
        self.headers["MCP-Protocol-Version"] = "2025-06-18"
        post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, self.headers)

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

    def close(self):
        post(self.url, None, self.headers, "DELETE")


class Agent:
    def __init__(self, fault):
        self.fault = fault
        self.settings = json.loads(os.environ["REHEARSE_SETTINGS"])
        with open(os.environ["MCP_CONFIG"]) as file:
            self.servers = [Server(entry["url"]) for entry in json.load(file)["mcpServers"].values()]
        self.owners, self.tools = {}, []
        for server in self.servers:
            for tool in server.ask("tools/list", {})["tools"]:
                self.owners[tool["name"]] = server
                self.tools.append({"type": "function", "function": {"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["inputSchema"]}})

    def ask(self, messages):
        """One reply of the model, which is asked again when it breaks off."""
        body = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": self.tools, "stream": self.settings["stream"]}
        for _ in range(3):
            text, whole = "", True
            request = urllib.request.Request(
                os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
            with urllib.request.urlopen(request) as response:
                try:
                    text = response.read().decode()
                except http.client.IncompleteRead as error:
                    text, whole = error.partial.decode(errors="ignore"), False
            message, ended = self.streamed(text) if self.settings["stream"] else self.plain(text)
            if whole and ended or self.fault == "swallows-cut":
                return message
        sys.exit("the reply broke off three times")

    def plain(self, text):
        try:
            return json.loads(text)["choices"][0]["message"], True
        except ValueError:
            return {"role": "assistant", "content": text}, False

    def streamed(self, text):
        message, ended = {"role": "assistant", "content": ""}, False
        for line in text.splitlines():
            if line == "data: [DONE]":
                ended = True
            elif line.startswith("data:"):
                try:
                    choices = json.loads(line[5:])["choices"]
                except ValueError:
                    break
                for delta in (choice["delta"] for choice in choices):
                    message["content"] += delta.get("content") or ""
                    for piece in delta.get("tool_calls", []):
                        calls = message.setdefault("tool_calls", [])
                        if piece["index"] == len(calls):
                            calls.append({"id": piece["id"], "type": "function", "function": {"name": piece["function"]["name"], "arguments": ""}})
                        calls[piece["index"]]["function"]["arguments"] += piece["function"].get("arguments", "")
        return message, ended

    def call(self, function):
        server = self.owners[function["name"]]
        arguments = json.loads(function["arguments"])
        if self.fault == "leaks-sessions":
            server = Server(server.url)
        if self.fault == "runs-twice":
            server.ask("tools/call", {"name": function["name"], "arguments": arguments})
        try:
            result = server.ask("tools/call", {"name": function["name"], "arguments": arguments})
            return "".join(part.get("text", "") for part in result["content"])
        except RuntimeError as error:
            return f"error: {error}"

    def answer(self, prompt):
        messages = [{"role": "user", "content": prompt}]
        limit = self.settings.get("max_model_calls", 10)
        for calls in range(1000):
            if calls == limit and self.fault != "ignores-limits":
                sys.exit(f"no answer after {limit} model calls")
            message = self.ask(messages)
            asked = message.get("tool_calls", [])
            messages.append(message)
            if not asked:
                return message["content"]
            dropped = asked[1:] if self.fault == "drops-second-call" else []
            results = [{"role": "tool", "tool_call_id": a["id"], "content": "" if a in dropped else self.call(a["function"])} for a in asked]
            if self.fault == "wrong-ids" and len(results) == 2:
                results[0]["content"], results[1]["content"] = results[1]["content"], results[0]["content"]
            messages += results
            if self.fault == "rewrites-history":
                messages[0] = {"role": "user", "content": "In short: " + prompt}

    def close(self):
        for server in self.servers:
            server.close()


def main():
    fault = sys.argv[1].removeprefix("--") if len(sys.argv) == 3 else None
    if fault and fault not in FAULTS:
        sys.exit(f"no fault {fault}: there are {', '.join(FAULTS)}")
    agent = Agent(fault)
    try:
        print(agent.answer(sys.argv[-1]))
    finally:
        agent.close()


main()
