"""The former name of `hopmeter.client`; the release after the next will remove it."""

from __future__ import annotations

import warnings
from typing import Any

from hopmeter import client


def __getattr__(name: str) -> Any:
    warnings.warn(f"hopmeter.connecting is now hopmeter.client: import {name} from there", DeprecationWarning, 2)
    return getattr(client, name)
