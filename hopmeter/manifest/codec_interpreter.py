"""Selects the Python interpreter for a transport's nodes if the nodes send objects that a codec encodes. Nodes that
send objects need a Python that has the packages of both the transport and the codec.

If the codec's framework is compatible with hopmeter's own packages, the framework is installed in the same environment
as these packages. If the framework conflicts with hopmeter's packages, or if the transport has its own environment,
hopmeter creates a joint environment for the transport and the framework.
"""

from __future__ import annotations

import functools
import sys
import tomllib
from collections.abc import Sequence
from importlib import machinery, metadata
from pathlib import Path
from types import ModuleType

from packaging.requirements import Requirement

from hopmeter.codecs import comparison, lookup
from hopmeter.manifest.interpreter import Interpreter, NoPythonError, ours, own, system, system_with_ours
from hopmeter.manifest.requirement import here
from hopmeter.manifest.requirement import name as name_of
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.system import paths


def interpreter(codec: str, offer: Offer) -> Interpreter | None:
    """Return the Python interpreter that can run a transport's nodes with a codec. Return None if `hopmeter build
    TRANSPORT --framework CODEC` has not created the Python environment yet.

    Raises NoPythonError if hopmeter cannot install the packages, so that the user has to, for example into the system
    Python.
    """
    environment = joint_environment(codec, offer)
    if environment is not None:
        return _joint(environment, codec, offer)
    if offer.interpreter != "system":
        return ours() if has(ours(), codec) else None
    found = system()
    absent = _package(codec) if apart(codec) else _absent(found, codec)
    if absent and not apart(codec) and (joined := system_with_ours()) is not None and has(joined, codec):
        return joined
    if absent:
        whose = "" if absent == codec else f", which {codec} needs"
        raise NoPythonError(
            f"{offer.transport} runs with the system's Python, which lacks {absent}{whose}",
            f"install the system's own package of {absent}, or choose another transport for {codec}",
        )
    return found


def _joint(environment: str, codec: str, offer: Offer) -> Interpreter | None:
    """Return the Python of the joint environment, or of the transport's own environment if it has the codec's packages.
    Return None if neither of these environments has the codec's packages."""
    found = own(environment)
    if found is not None and has(found, codec):
        return found
    found = own(offer.environment_name) if not apart(codec) and offer.environment == "own" else None
    return found if found is not None and has(found, codec) and _fits(found, codec) else None


def _fits(found: Interpreter, codec: str) -> bool:
    """Return whether a Python has all packages of a codec, in versions that hopmeter supports."""
    wanted = zip(map(Requirement, requirements(codec)), versions(codec, found), strict=True)
    return all(version and each.specifier.contains(version, prereleases=True) for each, version in wanted)


def common_codec(codecs: Sequence[str], offer: Offer) -> str | None:
    """Return the first of the given codecs whose Python has the packages of all given codecs. Return None if no codec's
    Python has the packages of all given codecs."""
    for codec in codecs:
        found = interpreter(codec, offer)
        if found is not None and all(has(found, other) for other in codecs):
            return codec
    return None


def joint_environment(codec: str, offer: Offer) -> str | None:
    """Return the name of the joint environment of a transport and a codec, or None if the two need no joint
    environment."""
    if offer.interpreter == "system" or not (apart(codec) or offer.environment == "own"):
        return None
    return f"codec-{codec}-{offer.environment_name}" if offer.pip else f"codec-{codec}"


def apart(codec: str) -> tuple[str, ...]:
    """Return the packages of a codec that cannot be installed next to hopmeter's own packages. Return an empty tuple if
    all packages of the codec can be installed next to hopmeter's own packages."""
    return tuple(getattr(_module(codec), "APART", ()))


def requirements(codec: str) -> list[str]:
    """Return a codec's packages, the framework first, as arguments for `uv pip install`."""
    if apart(codec):
        return list(apart(codec))
    module = _module(codec)
    wanted, extra = {"numpy", _package(codec), *getattr(module, "ALSO", ())}, getattr(module, "EXTRA", "")
    needed = sorted(
        (text for text in _declared_requirements() if name_of(text) in wanted),
        key=lambda text: name_of(text) != _package(codec),
    )
    return [*(_declared_requirements(extra) if extra else ()), *needed]


def extra(name: str) -> list[str]:
    """Return the packages that an optional extra of hopmeter needs, as arguments for `uv pip install`."""
    return _declared_requirements(name)


def frameworks() -> list[str]:
    """Return the codecs of frameworks that are not dependencies of hopmeter."""
    return [name for name, module in lookup.codecs().items() if hasattr(module, "MEGABYTES")]


def has(found: Interpreter, codec: str) -> bool:
    """Return whether a Python has all packages of a codec. The function imports no package."""
    return not _absent(found, codec)


def _absent(found: Interpreter, codec: str) -> str:
    """Return the first package of a codec that is missing from a Python, or an empty string if no package is missing.

    The package of the codec's framework is checked before the codec's other packages.
    """
    wanted = [_package(codec), *getattr(_module(codec), "ALSO", ()), "numpy"]
    missing = (each for each in wanted if each not in sys.stdlib_module_names and not _is_in(each, found.packages))
    return next(missing, "")


def versions(codec: str, found: Interpreter) -> list[str]:
    """Return the versions of a codec's packages, the framework first.

    The version of a missing package is an empty string.
    """
    first, *others = (name_of(text) for text in requirements(codec))
    builds = getattr(_module(codec), "BUILDS", ())
    framework = next(filter(None, (_version(name, found.packages) for name in (first, *builds))), "")
    return [framework, *(_version(name, found.packages) for name in others)]


def _version(distribution: str, folders: tuple[Path, ...]) -> str:
    searched = [str(folder) for folder in folders]
    return next((each.version for each in metadata.Distribution.discover(name=distribution, path=searched)), "")


def _is_in(package: str, folders: tuple[Path, ...]) -> bool:
    if "." in package:
        return any((folder / package.replace(".", "/")).is_dir() for folder in folders)
    return machinery.PathFinder.find_spec(package, [str(folder) for folder in folders]) is not None


def _module(codec: str) -> ModuleType:
    return comparison.comparison_codec(codec) if codec in comparison.comparison_codecs() else lookup.codec_named(codec)


def _package(codec: str) -> str:
    """Return the package that a codec imports, or NumPy if the codec needs no other package."""
    module = _module(codec)
    named: str = getattr(module, "PACKAGE", "") or (getattr(module, "ROOTS", ()) or ("numpy",))[0]
    return named


@functools.cache
def _declared_requirements(extra: str = "") -> list[str]:
    """Return the package requirements that hopmeter itself, or one of its extras, declares."""
    tree = paths.checkout()
    if tree is not None:  # the installed metadata may differ from the checkout
        project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
        texts = project["optional-dependencies"].get(extra, []) if extra else project["dependencies"]
        return [text for each in texts if (text := here(each))]
    texts = metadata.requires("hopmeter") or []
    return [text for each in texts if (text := here(each, extra)) and not (extra and here(each))]
