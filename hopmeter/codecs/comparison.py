"""Finds the comparison codecs, against which benchmarks measure hopmeter's own codec. Each module in `compared/` is a
codec. The codec's name is the module's name with hyphens instead of underscores.

If a codec needs a separate package, `PACKAGE` is the package's name, and `EXTRA` is the hopmeter extra that installs
the package.
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
    """Return a codec's module, which defines `encode(obj) -> frames` and `decode(frames) -> obj`.

    `pickle-in-band` and `pickle-out-of-band` run code from the frames: use them only if you trust every sender.
    """
    if name not in comparison_codecs():
        raise CodecError(
            "E-UNKNOWN-CODEC", f"unknown codec {name[:40]!r}", f"known are {', '.join(comparison_codecs())}"
        )
    return importlib.import_module(f"{compared.__name__}.{name.replace('-', '_')}")
