# Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0
"""The model's side of agent.py: chat completions, whole and streamed."""
import http.client
import json
import os
import time
import urllib.error
import urllib.request

ATTEMPTS = 3
PATIENCE = 120  # seconds that an endpoint may ask to wait
REASONS = {401: "auth", 403: "auth", 404: "not_found", 408: "timeout", 429: "rate_limit"}


class Failed(Exception):
    """The endpoint gives no reply. The reason is one of those that `stops` knows."""

    def __init__(self, reason, message, again=True, wait=0):
        super().__init__(message)
        self.reason, self.again, self.wait = reason, again, wait


class Endpoint:
    def __init__(self, settings):
        self.url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        self.silence = float(os.environ.get("MODEL_SILENCE", "600"))  # seconds
        self.headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
        self.stream = settings.get("stream", False)
        self.body = {"model": os.environ["OPENAI_MODEL"], "stream": self.stream}
        self.body |= {key: settings[key] for key in ("temperature", "top_p", "max_tokens", "seed") if key in settings}

    def ask(self, messages, tools):
        """The model's message, after as many attempts as it takes."""
        body = self.body | {"messages": messages} | ({"tools": tools} if tools else {})
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self.once(json.dumps(body).encode())
            except Failed as failure:
                if attempt == ATTEMPTS or not failure.again or failure.wait > PATIENCE:
                    raise
                time.sleep(failure.wait or 0.05 * 2**attempt)

    def once(self, body):
        try:
            request = urllib.request.Request(self.url, body, self.headers)
            with urllib.request.urlopen(request, timeout=self.silence) as response:
                return self.streamed(response) if self.stream else self.whole(response.read())
        except urllib.error.HTTPError as error:
            raise refused(error) from error
        except TimeoutError as error:
            raise Failed("timeout", f"the endpoint was silent for {self.silence} s") from error
        except urllib.error.URLError as error:
            silent = isinstance(error.reason, TimeoutError)
            raise Failed("timeout" if silent else "connection", f"no reply: {error.reason}") from error
        except (http.client.IncompleteRead, ConnectionError) as error:
            raise Failed("reset", f"the reply broke off: {error}") from error
        except http.client.HTTPException as error:
            raise Failed("malformed", f"this is no reply of HTTP: {error}") from error

    def whole(self, data):
        if not data.strip():
            raise Failed("empty", "the reply is empty")
        reply = decoded(data)
        try:
            return joined([{"delta": choice["message"], "finish_reason": choice.get("finish_reason")} for choice in reply["choices"][:1]])
        except (KeyError, TypeError) as error:
            raise Failed("malformed", f"the reply has no message: {data[:200]!r}") from error

    def streamed(self, response):
        choices, seen = [], b""
        for line in lines(response):
            seen = seen or line.strip()
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                break
            choices += decoded(data).get("choices") or []
        if not choices:
            raise Failed("malformed" if seen else "empty", f"the reply is no stream of events: {seen[:200]!r}")
        if not any(choice.get("finish_reason") for choice in choices):
            raise Failed("cut_stream", "the reply ended before its end")
        return joined(choices)


def lines(response):
    """The lines of a stream. Iteration over a response would not tell a broken one from one that has ended."""
    rest = b""
    while data := response.read1(65536):
        *whole, rest = (rest + data).split(b"\n")
        yield from whole
    yield rest


def decoded(data):
    """The object that a reply, or a part of one, is."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise Failed("malformed", f"the reply is not JSON: {data[:200]!r}") from error
    if not isinstance(value, dict):
        raise Failed("malformed", f"the reply is no object: {data[:200]!r}")
    if value.get("error"):
        raise Failed("server", f"the reply is an error: {value['error']}")
    return value


def refused(error):
    """What an answer with an error status means."""
    reason = REASONS.get(error.code, "server" if error.code >= 500 else "bad_request")
    try:
        wait = float(error.headers.get("Retry-After") or 0)
    except ValueError:
        wait = 0
    try:
        text = error.read(2000).decode(errors="replace")
    except (http.client.HTTPException, OSError):
        text = ""
    again = error.code in (408, 429) or error.code >= 500
    return Failed(reason, f"HTTP {error.code}: {text}", again, wait)


def joined(choices):
    """The message whose pieces these are, in a form that every endpoint takes back."""
    message, calls, at = {"role": "assistant", "content": ""}, [], {}
    for delta in (choice.get("delta") or {} for choice in choices):
        message["content"] += delta.get("content") or ""
        for number, piece in enumerate(delta.get("tool_calls") or []):
            function, index = piece.get("function") or {}, piece.get("index", number)
            call = at.get(index)
            if call is None or piece.get("id") and call["id"] and piece["id"] != call["id"]:
                call = at[index] = {"id": piece.get("id") or "", "type": "function", "function": {"name": "", "arguments": ""}}
                calls.append(call)
            call["function"]["name"] = call["function"]["name"] or function.get("name") or ""
            call["function"]["arguments"] += function.get("arguments") or ""
    if calls:
        message["tool_calls"], message["content"] = calls, message["content"] or None
    return message
