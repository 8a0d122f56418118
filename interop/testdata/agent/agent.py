# Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0
"""A tool-calling agent in nothing but the standard library.

agent.py PROMPT plays one turn and prints the answer. Without a prompt it reads a
line {"prompt": ...} for each turn, and writes {"answer": ...} or {"stop": REASON}.
It finds its endpoint and its MCP servers in the environment.
"""
import json
import os
import sys

from endpoint import Endpoint, Failed
from servers import Servers


class Agent:
    def __init__(self):
        settings = json.loads(os.environ.get("REHEARSE_SETTINGS", "{}"))
        self.endpoint = Endpoint(settings)
        self.most = settings.get("max_model_calls", 20)
        self.messages = [{"role": "system", "content": settings["system"]}] if settings.get("system") else []
        self.ids = set()
        self.servers = Servers(settings)

    def answer(self, prompt):
        """One turn."""
        self.messages.append({"role": "user", "content": prompt})
        for _ in range(self.most):
            message = self.endpoint.ask(self.messages, self.servers.tools())
            asked = message.get("tool_calls", [])
            if not asked and not message["content"]:
                raise Failed("empty_reply", "the model says nothing")
            self.messages.append(message)
            if not asked:
                return message["content"]
            self.run(asked)
        raise Failed("model_calls", f"no answer after {self.most} model calls")

    def run(self, asked):
        """Runs the calls of a message, one after another, and answers each."""
        results = []
        for call in asked:
            call["id"] = self.new_id(call["id"])
            function = call["function"]
            arguments, wrong = parsed(function["arguments"])
            if wrong:
                function["arguments"] = "{}"  # no endpoint takes the others back
            text = wrong or self.servers.call(function["name"], arguments)
            results.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        self.messages += results

    def new_id(self, name):
        """An id that no other call has."""
        if not name or name in self.ids:
            name = f"{name or 'call'}_{len(self.ids)}"
        self.ids.add(name)
        return name


def parsed(text):
    """The arguments of a call, or what is wrong with them."""
    try:
        arguments = json.loads(text or "{}")
    except ValueError as error:
        return None, f"Error: the arguments are not JSON: {error}"
    if not isinstance(arguments or {}, dict):
        return None, "Error: the arguments are no object"
    return arguments or {}, None


def main():
    agent = Agent()
    try:
        if len(sys.argv) > 1:
            print(agent.answer(sys.argv[1]))
            return
        for line in sys.stdin:
            try:
                said = {"answer": agent.answer(json.loads(line)["prompt"])}
            except Failed as failure:
                print(failure, file=sys.stderr)
                said = {"stop": failure.reason}
            print(json.dumps(said), flush=True)
    except Failed as failure:
        sys.exit(f"{failure.reason}: {failure}")
    finally:
        agent.servers.close()


main()
