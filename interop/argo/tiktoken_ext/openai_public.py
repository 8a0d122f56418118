# Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0
"""Encodings of single bytes, in place of those that tiktoken downloads.

argo-proxy 2.8.9 counts tokens and cannot start to answer without an encoding.
With this folder on PYTHONPATH it counts bytes, and needs no network.
"""


def bytes_only(name):
    return {
        "name": name,
        "pat_str": r"(?s:.)",
        "mergeable_ranks": {bytes([i]): i for i in range(256)},
        "special_tokens": {},
    }


ENCODING_CONSTRUCTORS = {
    name: (lambda name=name: bytes_only(name)) for name in ("cl100k_base", "o200k_base")
}
