# Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

import re
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    """Tags the wheel: any Python 3, on the platform of the program that it carries."""

    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + re.sub(r"[^0-9A-Za-z]", "_", sysconfig.get_platform())
