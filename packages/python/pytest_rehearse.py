# Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

"""pytest fixtures for the mocks and recordings of rehearse.

    def test_weather(mock_llm):
        mock_llm.load({"llm": "weather", "turns": [{"user": "hi", "replies": [{"say": "Hello."}]}]})
        assert my_agent(base_url=mock_llm.url).ask("hi") == "Hello."

Each worker process runs one `rehearse serve` for each kind of mock, and each
test has a conversation of its own with it. When the test function has returned,
the test fails if the mock saw anything else than its script says. The plugin
only passes on what the program answers; docs/packages.md describes it.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import pathlib
import re
import subprocess
import urllib.parse
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

import pytest

Script = str | os.PathLike[str] | Mapping[str, Any]


class RehearseError(pytest.fail.Exception):
    """The program could not be started, or refused a request to its admin API.

    What the program says is the message of the test, without a traceback.
    """

    def __init__(self, msg: str) -> None:
        super().__init__(msg, pytrace=False)


class _Program:
    """A rehearse process that serves until it is stopped, and ends when this process does."""

    def __init__(self, *args: str) -> None:
        files = metadata.distribution("rehearse").files or []
        binary = next(f.locate() for f in files if f.stem == "rehearse" and f.suffix in ("", ".exe"))
        # In a session of its own, Ctrl-C reaches the tests alone. --with-parent
        # ends the program also when this process is killed.
        self._process = subprocess.Popen(
            [str(binary), *args, "--with-parent"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace", start_new_session=True,
        )  # fmt: skip
        line = self._process.stdout.readline()
        if not line:
            raise RehearseError(self.stop()[1])
        self.ready: dict[str, str] = json.loads(line)

    def stop(self) -> tuple[int, str]:
        """Stops the program and returns its exit code and what it had to say."""
        self._process.terminate()
        try:
            _, said = self._process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, said = self._process.communicate()
        return self._process.returncode, said.strip()


class _Server(_Program):
    """A mock for all tests of this process, one after another."""

    def __init__(self, kind: str, root: pathlib.Path) -> None:
        super().__init__("serve", kind, "--files", str(root))
        self.base = self.ready["admin"].removesuffix("/rehearse")
        self.path = self.ready["url"].removeprefix(self.base)

    def ask(self, method: str, path: str, body: bytes | None = None, content: str = "application/json") -> Any:
        """Sends a request to the admin API and returns its answer."""
        __tracebackhide__ = True
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.base).netloc)
        try:
            connection.request(method, path, body, {"Content-Type": content})
            response = connection.getresponse()
            answer = json.loads(response.read() or "null")
        except (OSError, http.client.HTTPException) as e:
            raise RehearseError(f"asking the mock at {self.base}: {e!r}") from None
        finally:
            connection.close()
        if response.status >= 400:
            raise RehearseError(answer["error"]["message"])
        return answer


class Mock:
    """The mock of one test."""

    def __init__(self, server: _Server, item: pytest.Item) -> None:
        self._server, self._item = server, item
        self._name = re.sub(r"[^0-9A-Za-z_.-]+", "-", item.name)
        root = f"{server.base}/t/{self._name}.{next(_numbers)}"
        self.url = root + server.path
        """The base URL for a client of OpenAI, or the URL of the MCP server."""
        self.base_url = root
        """The base URL for the clients that add the version themselves (Anthropic, Gemini)."""
        self.admin = root + "/rehearse"
        """The URL of the admin API for this test."""
        self._loaded, self._atend = False, None
        item.stash.setdefault(_checked, []).append(self)

    def load(self, script: Script, *, verify: Mapping[str, Any] | None = {"done": True}) -> Mock:  # noqa: B006
        """Plays a script from now on: YAML in a string, the same as a dict, or
        the path of a file, which is relative to the file of the test.

        verify is what must hold when the test has returned; None checks nothing.
        """
        __tracebackhide__ = True
        file = self._item.path
        path = file.with_name(f"{file.name}::{self._name}")  # as mistakes name it
        if isinstance(script, os.PathLike):
            path = file.parent / script
            try:
                body = path.read_bytes()
            except OSError as e:
                raise RehearseError(f"the script is not loaded: {e}") from None
        elif isinstance(script, str):
            body = script.encode()
        else:
            body = json.dumps(script, ensure_ascii=False).encode()
        self._ask("POST", "load?name=" + urllib.parse.quote(str(path)), body, "application/yaml")
        self._loaded, self._atend = True, verify
        return self

    def verify(self, **assertion: Any) -> None:
        """Fails the test unless an assertion of the admin API holds now."""
        __tracebackhide__ = True
        if found := self._found(assertion):
            pytest.fail(found, pytrace=False)

    def journal(self) -> list[dict[str, Any]]:
        """What the mock saw so far, and what it answered."""
        return self._ask("GET", "journal")

    def another(self) -> Mock:
        """A second mock of the same kind, for the same test."""
        return Mock(self._server, self._item)

    def _ask(self, method: str, name: str, *body: Any) -> Any:
        __tracebackhide__ = True
        return self._server.ask(method, urllib.parse.urlsplit(self.admin).path + "/" + name, *body)

    def _found(self, assertion: Mapping[str, Any]) -> str:
        verdict = self._ask("POST", "verify", json.dumps(assertion, ensure_ascii=False).encode())
        return "\n".join(f"{c['check']}: {c['message']}" for c in verdict["checks"] if not c["passed"])

    def _end(self) -> str:
        """Judges the test and returns what was wrong."""
        if not self._loaded:  # then it may not have been asked at all
            return "\n".join(self._ask("GET", "expectations")["problems"])
        return self._found(self._atend) if self._atend else ""

    def _forget(self) -> None:
        self._ask("DELETE", "conversation")


class Cassette(_Program):
    """The recording of one test, which answers in place of the endpoint."""

    def __init__(self, item: pytest.Item) -> None:
        name = urllib.parse.quote(item.nodeid.split("::", 1)[-1], safe="[]:").replace("::", ".")
        self.path = item.path.parent / "cassettes" / item.path.stem / (name + ".yaml")
        """The file of the recording."""
        args = ["proxy", "--cassette", str(self.path)]
        if upstream := os.environ.get("REHEARSE_RECORD_FROM"):
            args += ["--mode", "record", "--upstream", upstream]
        super().__init__(*args)
        self.url = self.ready["openai"]
        """The base URL for a client of OpenAI."""
        self.base_url = self.ready["url"]
        """The base URL for other clients."""
        self._ended = False
        item.stash.setdefault(_checked, []).append(self)

    def _end(self) -> str:
        """Ends the recording and returns what was wrong."""
        if self._ended:
            return ""
        self._ended = True
        code, said = self.stop()
        return said if code else ""


_checked = pytest.StashKey[list["Mock | Cassette"]]()
_numbers = itertools.count(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Judges what the mocks of a test saw, when its function has ended."""
    try:
        result = yield
    except (Exception, pytest.fail.Exception):
        if found := _judge(item):
            item.add_report_section("call", "rehearse", found)
        raise
    if found := _judge(item):
        pytest.fail(found, pytrace=False)
    return result


def _judge(item: pytest.Item) -> str:
    try:
        return "\n".join(filter(None, [m._end() for m in item.stash.get(_checked, [])]))
    except RehearseError as e:
        return str(e)


@pytest.fixture(scope="session")
def _rehearse_llm(pytestconfig: pytest.Config) -> Iterator[_Server]:
    server = _Server("llm", pytestconfig.rootpath)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def _rehearse_mcp(pytestconfig: pytest.Config) -> Iterator[_Server]:
    server = _Server("mcp", pytestconfig.rootpath)
    yield server
    server.stop()


@pytest.fixture
def mock_llm(request: pytest.FixtureRequest, _rehearse_llm: _Server) -> Iterator[Mock]:
    """A mock model endpoint that plays the script of this test."""
    yield from _mock(request, _rehearse_llm)


@pytest.fixture
def mock_mcp(request: pytest.FixtureRequest, _rehearse_mcp: _Server) -> Iterator[Mock]:
    """A mock MCP server that plays the script of this test."""
    yield from _mock(request, _rehearse_mcp)


def _mock(request: pytest.FixtureRequest, server: _Server) -> Iterator[Mock]:
    mock = Mock(server, request.node)
    yield mock
    checked = request.node.stash[_checked]
    for each in [m for m in checked if isinstance(m, Mock) and m._server is server]:
        each._forget()
        checked.remove(each)


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Iterator[Cassette]:
    """A recording of this test, cassettes/FILE/TEST.yaml beside its file.

    With the address of an endpoint in REHEARSE_RECORD_FROM it is recorded
    through that, otherwise it is replayed.
    """
    recording = Cassette(request.node)
    yield recording
    recording._end()
    request.node.stash[_checked].remove(recording)
