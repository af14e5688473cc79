"""Finds the codecs: every module in `frameworks/` is a codec. hopmeter imports a framework when one of the framework's
objects is first encoded or decoded.

A codec module defines some of these names:

- `ROOTS`: the packages that define the codec's types. The first of these packages is imported.
- `EXTRA`: the extra of hopmeter that installs the framework (`hopmeter[EXTRA]`). The string is empty if hopmeter itself
  needs the framework.
- `BUILDS`, optional: other distributions of the package, such as one for another CUDA version.
- `ALSO`, optional: hopmeter's own dependencies that the codec needs in addition to NumPy.
- `APART`, optional: pinned packages that conflict with packages of hopmeter and thus need a separate environment. The
  framework's package comes first.
- `PACKAGE`, optional: the package to import if the codec has no types of its own.
- `MEGABYTES`: the download size, and the size on disk.
- `write(obj, frames, depth) -> str`: appends the object's memory to `frames`, and returns its node as JSON.
- `WRITERS`, optional: maps types to the functions that `write` would call, so that small objects need one call less.
- `WHOLE`, optional: maps types to functions that return all frames at once, for types that `write` handles too slowly.
  Instead of a dict, `WHOLE` may be a function that returns the dict, if building it needs the framework.
- `READERS`: maps a node's tag to `reader(node, reading)`, which checks the node and returns the function that builds
  the object.
- `from_array(wanted)`, if the framework has arrays: returns a function that builds one from a NumPy array
  (`arrays.Wanted`). `RAW = True` if the framework has dtypes that NumPy does not have, such as bfloat16.
- `from_device(wanted)`, if the framework can build an array in another process's GPU memory (`cuda.ghosts.Ghost`).
  `write` must then call `cuda.nodes.lend_tensor` first if `frames` can loan memory (`writing.Lending`).
- `adopt(obj)`, if a receiver can request this framework for an object of another framework.
- `FORM` (`forms.Form`), if the framework can build objects from arrays: how to convert an array to an object and back
  with the framework's own functions.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import sys
from importlib import metadata
from types import ModuleType
from typing import Any

from hopmeter.codecs import frameworks
from hopmeter.codecs.errors import CodecError

ALIASES = {"pytorch": "torch"}
"""Alternative names of codecs."""


@functools.cache
def codecs() -> dict[str, ModuleType]:
    """Return every codec module by name."""
    names = sorted(found.name for found in pkgutil.iter_modules(frameworks.__path__))
    return {name: importlib.import_module(f"{frameworks.__name__}.{name}") for name in names}


@functools.cache
def by_root() -> dict[str, ModuleType]:
    """Return the codec modules, keyed by the packages that define the types of each codec."""
    return {root: codec for codec in codecs().values() for root in codec.ROOTS}


@functools.cache
def readers() -> dict[str, Any]:
    """Return the reader functions, keyed by the tag at the beginning of a header node."""
    return {tag: reader for codec in codecs().values() for tag, reader in codec.READERS.items()}


def codec_named(name: str) -> ModuleType:
    """Return the codec module with the given name, such as `torch`. Raises CodecError if the name is unknown."""
    found = codecs().get(ALIASES.get(name, name))
    if found is None:
        raise CodecError("E-UNKNOWN-CODEC", f"unknown codec {name[:40]!r}", f"known are {', '.join(codecs())}")
    return found


def import_package(package: str, extra: str) -> Any:
    """Import a framework's package. If the package is not installed, raise CodecError with the install command."""
    module = sys.modules.get(package)
    return _import(package, extra) if module is None else module


def _import(package: str, extra: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as cause:
        raise CodecError("E-FRAMEWORK-MISSING", f"{package} is not installed", remedy(extra)) from cause


def remedy(extra: str) -> str:
    """Return the remedy for a missing framework, including the command to run."""
    return f"run `{command(extra)}`"


def command(extra: str) -> str:
    """Return the command that installs a framework."""
    return f"hopmeter build --framework {extra}"


def own_packages(name: str) -> tuple[str, ...]:
    """Return the packages of a codec that has its own environment, or an empty tuple for other codecs."""
    return tuple(getattr(codec_named(name), "APART", ()))


def package(name: str) -> str:
    """Return the package to import for a codec, such as `PIL` for pillow."""
    codec = codec_named(name)
    found: str = getattr(codec, "PACKAGE", None) or codec.ROOTS[0]
    return found


def install_hint(name: str) -> str:
    """Return a message on how to install a codec's framework, or an empty string if the framework is installed.

    The function does not import the framework.
    """
    root = package(name)
    if (root in sys.modules or importlib.util.find_spec(root) is not None) and _has_pinned_version(name):
        return ""
    return f"{name} is not installed: {remedy(codec_named(name).EXTRA)}"


def _has_pinned_version(name: str) -> bool:
    """Return whether the installed version of a framework is the pinned version, or True if no version is pinned."""
    if not own_packages(name):
        return True
    wanted, _, version = own_packages(name)[0].partition("==")
    try:
        return metadata.version(wanted) == version
    except metadata.PackageNotFoundError:
        return False
