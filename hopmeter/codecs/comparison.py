"""Finds the codecs that hopmeter's own codec is compared with: each file in `compared/` is one, named after the file
with hyphens.

If a codec needs a separate package, `PACKAGE` is the package's name, and `EXTRA` is the extra of hopmeter that installs
it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType

from hopmeter.codecs import compared
from hopmeter.codecs.errors import CodecError


def comparison_codecs() -> list[str]:
    """Return the names of all comparison codecs."""
    return list(_sorted_names())


@functools.cache
def _sorted_names() -> tuple[str, ...]:
    return tuple(sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(compared.__path__)))


def comparison_codec(name: str) -> ModuleType:
    """Return the module of a codec by name, with `encode(obj) -> frames` and `decode(frames) -> obj`.

    `pickle-in-band` and `pickle-out-of-band` run any program that the sender put into the frames: use these codecs only
    if you trust everyone who can send.
    """
    if name not in comparison_codecs():
        raise CodecError(
            "E-UNKNOWN-CODEC", f"unknown codec {name[:40]!r}", f"known are {', '.join(comparison_codecs())}"
        )
    return importlib.import_module(f"{compared.__name__}.{name.replace('-', '_')}")
