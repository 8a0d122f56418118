# Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0
"""The tools' side of agent.py: MCP servers over streamable HTTP and over stdio."""
import http.client
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

VERSION = "2025-06-18"
RESTARTS = 6  # of a server that went away, for one request


class Gone(Exception):
    """There is no connection, or none any more."""


class Lost(Exception):
    """The server has forgotten the session."""


class Wrong(Exception):
    """The server answers with an error of the protocol."""


class HTTP:
    """A session over streamable HTTP. What is sent is answered in the same request; news comes by a stream of its own."""

    def __init__(self, entry, heard):
        self.url, self.heard, self.listening = entry["url"], heard, threading.Event()
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | entry.get("headers", {})

    def opened(self):
        self.headers["MCP-Protocol-Version"] = VERSION
        threading.Thread(target=self.listen, daemon=True).start()
        self.listening.wait(1)

    def listen(self):
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, headers=self.headers)) as response:
                self.listening.set()
                for message in events(response):
                    self.heard(message)
        except (OSError, http.client.HTTPException, ValueError, Gone):
            self.listening.set()  # it need not have such a stream

    def alive(self):
        return True

    def send(self, message, timeout):
        """Sends a message and yields what comes back."""
        request = urllib.request.Request(self.url, json.dumps(message).encode(), self.headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                if response.headers.get("Mcp-Session-Id"):
                    self.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
                if response.headers.get_content_type() == "text/event-stream":
                    yield from events(response)
                elif text := response.read().strip():
                    yield json.loads(text)
        except urllib.error.HTTPError as error:
            if error.code == 404 and "Mcp-Session-Id" in self.headers:
                raise Lost from error
            raise Gone(f"HTTP {error.code}: {error.read(300).decode(errors='replace')}") from error
        except TimeoutError:
            raise
        except (OSError, http.client.HTTPException) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise TimeoutError from error
            raise Gone(f"the connection broke: {error!r}") from error
        except ValueError as error:
            raise Gone(f"the answer is not JSON: {error}") from error

    def late(self, _):
        return iter(())  # a request that was given up has no answer any more

    def close(self):
        if "Mcp-Session-Id" in self.headers:
            try:
                urllib.request.urlopen(urllib.request.Request(self.url, headers=self.headers, method="DELETE"), timeout=5).close()
            except (OSError, http.client.HTTPException):
                pass  # it need not know sessions


def events(response):
    """The messages of a stream of server-sent events."""
    data = []
    for line in response:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:])
        elif not line and data:
            if text := b"\n".join(data).strip():
                yield json.loads(text)
            data = []


class Process:
    """A server that is a child process, and speaks by its standard streams."""

    def __init__(self, entry, _):
        self.said, self.trouble = queue.Queue(), b""
        try:
            self.child = subprocess.Popen(
                [entry["command"], *entry.get("args", [])], env=os.environ | entry.get("env", {}),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise Gone(str(error)) from error
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self.hear, self.drain)]
        for reader in self.readers:
            reader.start()

    def hear(self):
        for line in self.child.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue  # a banner, a log, half a frame
            if isinstance(message, dict):
                self.said.put(message)
        self.said.put(None)

    def drain(self):
        while data := self.child.stderr.read1(65536):
            self.trouble = (self.trouble + data)[-2000:]

    def opened(self):
        pass

    def alive(self):
        return self.child.poll() is None

    def send(self, message, timeout):
        try:
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()
        except OSError as error:
            raise self.gone() from error
        if "id" in message and "method" in message:
            yield from self.late(timeout)

    def late(self, timeout):
        """What comes until nothing does for so long."""
        while True:
            try:
                message = self.said.get(timeout=timeout)
            except queue.Empty:
                raise TimeoutError from None
            if message is None:
                raise self.gone()
            yield message

    def gone(self):
        try:
            status = f"with exit status {self.child.wait(1)}"
            self.readers[1].join(1)
        except subprocess.TimeoutExpired:
            status = "its output"
        return Gone(f"the connection was closed: it ended {status}; its stderr ends: {self.trouble.decode(errors='replace').strip()}")

    def close(self):
        try:
            self.child.stdin.close()
        except OSError:
            pass  # it has ended
        for end in (lambda: None, self.child.terminate, self.child.kill):
            end()
            try:
                self.child.wait(0.3)
                break
            except subprocess.TimeoutExpired:
                pass
        self.readers[0].join(1)
        self.child.stdout.close()
        self.child.stderr.close()


class Server:
    def __init__(self, name, entry, required, timeout):
        self.name, self.entry, self.required, self.timeout = name, entry, required, timeout
        self.wire, self.last, self.stale, self.list = None, 0, True, []

    def open(self):
        self.wire = (HTTP if "url" in self.entry else Process)(self.entry, self.heard)
        try:
            about = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "agent.py", "version": "1"}}
            self.ask("initialize", about)
            self.wire.opened()
            self.tell("notifications/initialized")
        except (Gone, Lost, Wrong, TimeoutError):
            self.shut()
            raise
        self.stale = True

    def shut(self):
        if self.wire:
            self.wire.close()
        self.wire = None

    def reach(self):
        """Makes sure that there is a session: one that went away is opened again."""
        if self.wire and self.wire.alive():
            return
        self.shut()
        for attempt in range(RESTARTS):
            try:
                return self.open()
            except Gone:
                if attempt == RESTARTS - 1:
                    raise
                time.sleep(0.05 * 2**attempt)

    def tell(self, method, params=None):
        for _ in self.wire.send({"jsonrpc": "2.0", "method": method} | ({"params": params} if params else {}), 5):
            pass

    def ask(self, method, params, timeout=10):
        self.last += 1
        number = self.last
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params | {"_meta": {"progressToken": number}}}
        try:
            return self.result(number, self.wire.send(message, timeout))
        except TimeoutError:
            if method != "initialize":
                self.tell("notifications/cancelled", {"requestId": number, "reason": "no answer in time"})
            try:
                return self.result(number, self.wire.late(0.1))  # it may have crossed the cancellation
            except (Gone, TimeoutError):
                raise TimeoutError(f"no answer within {timeout} s") from None

    def result(self, number, messages):
        """The answer of a request among what comes."""
        for message in messages:
            if message.get("method"):
                self.heard(message)
            elif message.get("id") == number:
                if "error" in message:
                    error = message["error"]
                    raise Wrong(f"{error.get('message')} (code {error.get('code')}{', ' + json.dumps(error['data']) if error.get('data') else ''})")
                return message["result"]
        raise Gone("the stream ended without an answer on this connection")

    def heard(self, message):
        if message.get("method") == "notifications/tools/list_changed":
            self.stale = True
        elif "method" in message and "id" in message:
            answer = {"result": {}} if message["method"] == "ping" else {"error": {"code": -32601, "message": "the client does not know this"}}
            for _ in self.wire.send({"jsonrpc": "2.0", "id": message["id"]} | answer, 5):
                pass

    def relist(self):
        """Lists the tools, when there is news of them."""
        if not self.stale:
            return
        self.stale, found, params = False, [], {}
        while True:
            page = self.ask("tools/list", params)
            found += [tool for tool in page["tools"] if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
            if not page.get("nextCursor"):
                break
            params = {"cursor": page["nextCursor"]}
        self.list = found

    def call(self, tool, arguments):
        """What the model is told of a call. It is made once, whatever becomes of it."""
        try:
            self.reach()
            try:
                result = self.ask("tools/call", {"name": tool, "arguments": arguments}, self.timeout)
            except Lost:  # the server has not seen the call
                self.shut()
                self.reach()
                result = self.ask("tools/call", {"name": tool, "arguments": arguments}, self.timeout)
        except (Gone, Lost, Wrong, TimeoutError) as error:
            return f"Error: calling {tool} on server {self.name}: {error or type(error).__name__}"
        text = "\n".join(map(text_of, result.get("content", [])))
        if not text and "structuredContent" in result:
            text = json.dumps(result["structuredContent"])
        return f"Error: {text}" if result.get("isError") else text


def text_of(part):
    if part.get("type") == "text":
        return part["text"]
    return part.get("resource", {}).get("text") or f"[{part.get('type')}]"


def function(name, about, tool):
    """A tool as the model is offered it; None for one that no endpoint takes."""
    schema = tool.get("inputSchema")
    odd = not isinstance(schema, dict) or schema.get("type") != "object" or {"anyOf", "oneOf", "allOf", "enum", "not"} & schema.keys()
    if odd or not re.fullmatch("[A-Za-z0-9_-]{1,64}", name):
        print(f"tool {name} is not offered: its schema or its name is odd", file=sys.stderr)
        return None
    return {"type": "function", "function": {"name": name, "description": about, "parameters": {"properties": {}} | schema}}


class Servers:
    def __init__(self, settings):
        with open(os.environ["MCP_CONFIG"]) as file:
            config = json.load(file)
        entries, self.denied = config["mcpServers"], ""
        self.named, self.drop = settings.get("tool_names") == "mcp", settings.get("drop_private")
        if "agent_permissions" in config and "as" in settings:
            allowed = config["agent_permissions"].get(settings["as"], {}).get("allowed_servers", [])
            if names := [name for name in entries if name not in allowed]:
                self.denied = f"; agent {settings['as']} has no permission to use {', '.join(names)}"
            entries = {name: entry for name, entry in entries.items() if name in allowed}
        optional = [server["name"] for server in json.loads(os.environ.get("SERVERS", "[]")) if server.get("optional")]
        timeout = seconds(settings.get("tool_timeout", "60s"))
        self.all = [Server(name, entry, name not in optional, timeout) for name, entry in entries.items()]
        self.owners = {}
        try:
            for server in self.all:
                self.begin(server)
        except BaseException:
            self.close()
            raise

    def begin(self, server):
        try:
            server.open()
            server.relist()
        except (Gone, Lost, Wrong, TimeoutError) as error:
            server.shut()
            if server.required:
                sys.exit(f"server {server.name} cannot be used: {error or type(error).__name__}")

    def tools(self):
        """What the model is offered now."""
        offered, self.owners = [], {}
        for server in self.all:
            try:
                if not server.wire and not server.required:
                    server.open()
                if server.wire:
                    server.relist()
            except (Gone, Lost, Wrong, TimeoutError) as error:
                print(f"server {server.name}: {error}; the tools listed before are used", file=sys.stderr)
            for tool in server.list:
                name, about = tool["name"], tool.get("description", "")
                if self.named:
                    name, about = f"mcp_{server.name}_{name}", f"[MCP:{server.name}] {about}"
                if name not in self.owners and (offer := function(name, about, tool)):
                    self.owners[name] = server, tool["name"]
                    offered.append(offer)
        return offered

    def call(self, name, arguments):
        if name not in self.owners:
            return f"Error: there is no tool {name}; there are {', '.join(self.owners) or 'none'}{self.denied}"
        if self.drop:
            arguments = {key: value for key, value in arguments.items() if not key.startswith("_")}
        server, tool = self.owners[name]
        return server.call(tool, arguments)

    def close(self):
        for server in self.all:
            server.shut()


def seconds(text):
    """A duration such as 400ms or 1m30s."""
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", text))
