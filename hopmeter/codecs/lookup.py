"""Finding the codecs: every file in `frameworks/` is one. A framework is imported when an object of it turns up.

What such a file offers, by name:

- `ROOTS`: the packages that its types say they come from; the first is the one to import.
- `EXTRA`: the extra of hopmeter that installs it (`hopmeter[EXTRA]`); empty where hopmeter itself needs it.
- `ALSO`, optional: what of hopmeter's own dependencies it needs beside NumPy.
- `APART`, optional: packages, the framework's first and pinned, that go into an environment of their own, because
  they conflict with what hopmeter needs.
- `PACKAGE`, optional: the package to import where no types are its own.
- `MEGABYTES`: what installing it downloads, and what it then takes on disk.
- `write(obj, frames, depth) -> str`: appends the object's memory to `frames` and returns its node as JSON.
- `WHOLE`, optional: for a type, what makes all frames at once where the general way would cost too much; or what
  answers that, where the framework has to be imported for it.
- `READERS`: for each tag of a node, `reader(node, reading)`, which checks it and returns what makes the object.
- `from_array(wanted)` where it has arrays: returns what makes one from a NumPy array (`arrays.Wanted`). `RAW = True`
  where it has dtypes itself that NumPy lacks, such as bfloat16.
- `from_device(wanted)` where it can make one in another process's memory on a GPU (`cuda.ghosts.Ghost`), and its
  `write` then asks `cuda.nodes.lend_tensor` first where `frames` lend (`writing.Lending`).
- `adopt(obj)` where an object of another framework can be asked for as one of this.
- `FORM` where it makes objects of arrays (`forms.Form`): how it makes the ones and the picture that scenarios and
  `hopmeter publish` send, and reads them again by the framework's own means.
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
"""What else a codec may be asked for as."""


@functools.cache
def codecs() -> dict[str, ModuleType]:
    """Every codec by its name, the name of its file."""
    names = sorted(found.name for found in pkgutil.iter_modules(frameworks.__path__))
    return {name: importlib.import_module(f"{frameworks.__name__}.{name}") for name in names}


@functools.cache
def by_root() -> dict[str, ModuleType]:
    """Every codec by each package that its types come from."""
    return {root: codec for codec in codecs().values() for root in codec.ROOTS}


@functools.cache
def readers() -> dict[str, Any]:
    """Every tag that a node may begin with."""
    return {tag: reader for codec in codecs().values() for tag, reader in codec.READERS.items()}


def codec_named(name: str) -> ModuleType:
    """Return a codec by its name, such as `torch`."""
    found = codecs().get(ALIASES.get(name, name))
    if found is None:
        raise CodecError("E-UNKNOWN-CODEC", f"no codec {name[:40]!r}", f"known are {', '.join(codecs())}")
    return found


def import_package(package: str, extra: str) -> Any:
    """Import a framework's package; if it is not installed, say how to install it."""
    module = sys.modules.get(package)
    return _import(package, extra) if module is None else module


def _import(package: str, extra: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as cause:
        raise CodecError("E-FRAMEWORK-MISSING", f"{package} is not installed", remedy(extra)) from cause


def remedy(extra: str) -> str:
    """Return the remedy that names the command."""
    return f"run `{command(extra)}`"


def command(extra: str) -> str:
    """Return the command that a person types to install a framework."""
    return f"hopmeter build --framework {extra}"


def own_packages(name: str) -> tuple[str, ...]:
    """Return the packages of a codec that has its own environment; for others, none."""
    return tuple(getattr(codec_named(name), "APART", ()))


def package(name: str) -> str:
    """Return the package to import for a codec, such as `PIL` for pillow."""
    codec = codec_named(name)
    found: str = getattr(codec, "PACKAGE", None) or codec.ROOTS[0]
    return found


def install_hint(name: str) -> str:
    """Empty if the framework of a codec is installed (it is not imported), else what gets it."""
    root = package(name)
    if (root in sys.modules or importlib.util.find_spec(root) is not None) and _has_pinned_version(name):
        return ""
    return f"{name} is not installed: {remedy(codec_named(name).EXTRA)}"


def _has_pinned_version(name: str) -> bool:
    """Whether it is the very version; only what is pinned has one."""
    if not own_packages(name):
        return True
    wanted, _, version = own_packages(name)[0].partition("==")
    try:
        return metadata.version(wanted) == version
    except metadata.PackageNotFoundError:
        return False
