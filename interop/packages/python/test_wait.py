"""Tests that tell that they are there, and then wait for an end that comes from outside."""

import os
import socket

import pytest


@pytest.mark.parametrize("n", range(4))
def test_wait(mock_llm, mock_mcp, n):
    with socket.create_connection(("127.0.0.1", int(os.environ["WAITING"]))) as there:
        there.recv(1)
