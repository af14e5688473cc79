"""Finds the codecs: every module in `frameworks/` is a codec. A framework is imported when one of its objects is first
encoded or decoded.

Each file defines some of these names:

- `ROOTS`: the packages of its types; the first is the one to import.
- `EXTRA`: the extra of hopmeter that installs it (`hopmeter[EXTRA]`); empty if hopmeter itself needs it.
- `BUILDS`, optional: other distributions of its package, such as the one for another version of CUDA.
- `ALSO`, optional: which of hopmeter's own dependencies it needs in addition to NumPy.
- `APART`, optional: packages, the framework's first and pinned, that need an environment of their own, because
  they conflict with packages of hopmeter.
- `PACKAGE`, optional: the package to import if the codec has no types of its own.
- `MEGABYTES`: the size of the download, and the size on disk.
- `write(obj, frames, depth) -> str`: appends the object's memory to `frames` and returns its node as JSON.
- `WRITERS`, optional: for a type, the function that `write` would call, so that small objects need one call less.
- `WHOLE`, optional: for a type, a function that makes all frames at once if the general way would cost too much; or
  a function that returns that, if the framework has to be imported for it.
- `READERS`: for each tag of a node, `reader(node, reading)`, which checks it and returns the object's maker.
- `from_array(wanted)` if it has arrays: returns the maker of one from a NumPy array (`arrays.Wanted`). `RAW = True`
  if it has dtypes that NumPy lacks, such as bfloat16.
- `from_device(wanted)` if it can make one in another process's GPU memory (`cuda.ghosts.Ghost`). Its
  `write` then calls `cuda.nodes.lend_tensor` first if `frames` can loan memory (`writing.Lending`).
- `adopt(obj)` if a receiver can request this framework for an object of another one.
- `FORM` if it makes objects of arrays (`forms.Form`): how it makes the ones and the image that scenarios and
  `hopmeter publish` send, and reads them again with the framework's own functions.
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
"""Other names by which you may request a codec."""


@functools.cache
def codecs() -> dict[str, ModuleType]:
    """Every codec, by its name, which is the name of its module."""
    names = sorted(found.name for found in pkgutil.iter_modules(frameworks.__path__))
    return {name: importlib.import_module(f"{frameworks.__name__}.{name}") for name in names}


@functools.cache
def by_root() -> dict[str, ModuleType]:
    """Every codec, by each package that contains its types."""
    return {root: codec for codec in codecs().values() for root in codec.ROOTS}


@functools.cache
def readers() -> dict[str, Any]:
    """Return the reader of a node for every tag with which a node may begin."""
    return {tag: reader for codec in codecs().values() for tag, reader in codec.READERS.items()}


def codec_named(name: str) -> ModuleType:
    """Return the codec with a name, such as `torch`."""
    found = codecs().get(ALIASES.get(name, name))
    if found is None:
        raise CodecError("E-UNKNOWN-CODEC", f"unknown codec {name[:40]!r}", f"known are {', '.join(codecs())}")
    return found


def import_package(package: str, extra: str) -> Any:
    """Import a framework's package; if it is not installed, raise an error with the command that installs it."""
    module = sys.modules.get(package)
    return _import(package, extra) if module is None else module


def _import(package: str, extra: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as cause:
        raise CodecError("E-FRAMEWORK-MISSING", f"{package} is not installed", remedy(extra)) from cause


def remedy(extra: str) -> str:
    """Return the remedy, which contains the command."""
    return f"run `{command(extra)}`"


def command(extra: str) -> str:
    """Return the command that installs a framework."""
    return f"hopmeter build --framework {extra}"


def own_packages(name: str) -> tuple[str, ...]:
    """Return the packages of a codec that has its own environment; for other codecs an empty tuple."""
    return tuple(getattr(codec_named(name), "APART", ()))


def package(name: str) -> str:
    """Return the package to import for a codec, such as `PIL` for pillow."""
    codec = codec_named(name)
    found: str = getattr(codec, "PACKAGE", None) or codec.ROOTS[0]
    return found


def install_hint(name: str) -> str:
    """Return an empty text if the framework of a codec is installed, otherwise the way to install it; does not import
    the framework."""
    root = package(name)
    if (root in sys.modules or importlib.util.find_spec(root) is not None) and _has_pinned_version(name):
        return ""
    return f"{name} is not installed: {remedy(codec_named(name).EXTRA)}"


def _has_pinned_version(name: str) -> bool:
    """Whether the installed version is the pinned one; true if no version is pinned."""
    if not own_packages(name):
        return True
    wanted, _, version = own_packages(name)[0].partition("==")
    try:
        return metadata.version(wanted) == version
    except metadata.PackageNotFoundError:
        return False
