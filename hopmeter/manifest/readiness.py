"""Determines whether a transport's node runs on this machine, by starting it with `--describe`.

The description that the node prints is cached until the node changes.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopmeter.manifest.description import Mark, UndescribedError, ask, describe_once
from hopmeter.manifest.interpreter import Interpreter, NoPythonError, interpreter
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.manifest.tables.user_install import Owned
from hopmeter.model.workload import NO_CODEC
from hopmeter.system import paths

SPEC_FORMAT = 7
"""The version of the spec format that nodes must support. `instrument/src/spec.rs` has the same number."""
NOT_BUILT = "it is not built"
OF_ANOTHER_VERSION = "its node was built for another version of hopmeter"


@dataclass(frozen=True)
class Readiness:
    """Whether this machine can measure a transport in one language.

    If a part is missing, `missing` names the part, and `get` contains the command that installs it.
    """

    transport: str
    language: str
    """The programming language, or an empty string if the transport's languages are unknown."""
    ready: bool
    version: str = ""
    code: str = ""
    """The message code of the text in `missing`."""
    missing: str = ""
    get: str = ""
    command: tuple[str, ...] = ()
    """The command that starts the node."""
    about: dict[str, Any] = field(default_factory=dict)
    """The node's description of itself: compiler, flags and instrument."""
    environment: dict[str, str] = field(default_factory=dict)
    """The node's own environment variables, in addition to those of all nodes."""

    @property
    def has_turns(self) -> bool:
        """Return whether the node can run as one side of a duet. A node that an earlier version of hopmeter built
        cannot run in a duet."""
        return bool(self.about.get("turns"))

    @property
    def begins_at_once(self) -> bool:
        """Return whether the node's source can send its first message without a test of the links. Nodes of earlier
        versions cannot."""
        return bool(self.about.get("at_once"))

    @property
    def survives_restarts(self) -> bool:
        """Return whether the node survives a planned restart of its broker. Nodes of earlier versions do not."""
        return bool(self.about.get("restarts"))

    def as_json(self) -> dict[str, Any]:
        """Return the readiness as a JSON object for `hopmeter transports --json`."""
        return {
            "transport": self.transport,
            "language": self.language or None,
            "ready": self.ready,
            "version": self.version or None,
            "code": self.code or None,
            "missing": self.missing or None,
            "get": self.get or None,
        }


def readiness_of_all(manifests: Iterable[Manifest]) -> dict[tuple[str, str], Readiness]:
    """Return the readiness of the given transports, keyed by transport name and language. All nodes are queried in
    parallel."""
    pairs = [(manifest, language) for manifest in manifests for language in manifest.offers]
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 2)) as pool:
        answers = pool.map(lambda pair: readiness(*pair), pairs)
        return {(answer.transport, answer.language): answer for answer in answers}


def readiness(manifest: Manifest, language: str, codec: str = NO_CODEC) -> Readiness:
    """Return the readiness of a transport in one language.

    If a codec is given, the transport is ready only if the codec's framework is also installed.
    """
    user = manifest.offers[language].user
    if user is not None and (problem := user.problem()):
        return _unready(manifest, language, "E-NOT-INSTALLED", *problem)
    try:
        command = node_command(manifest, language, codec)
    except NoPythonError as none:
        return _unready(manifest, language, "E-NO-PYTHON", str(none), none.remedy)
    if command is None and codec != NO_CODEC:
        return _unready(manifest, language, "E-FRAMEWORK-MISSING", *_frameworkless(manifest, codec))
    if command is None:
        return _unready(manifest, language, "E-NOT-BUILT", NOT_BUILT)
    variables = node_variables(manifest, language, codec)
    if absent := _absent_part(manifest, variables, user):
        return _unready(manifest, language, *absent)
    describe = [*command, "--describe"]
    if language == "python":
        describe += ["--adapter", str(manifest.folder / "python")]
    mark = _mark(_depends_on(manifest, language, command, codec)) + _user_library(user)
    mark += [[name, text] for name, text in variables.items()]
    selecting = ["PYTHONPATH", *(name for each in manifest.settings.values() for name in each.variables)]
    mark += [[name, os.environ.get(name, "")] for name in selecting]
    file = _cache_file(manifest, language, mark)
    try:
        about = describe_once(file, mark, lambda: ask(describe, {**environment(), **variables}))
    except UndescribedError as failed:
        return _unready(manifest, language, "E-NODE-BROKEN", str(failed))
    if about.get("spec") != SPEC_FORMAT:
        again = "install hopmeter again (in a checkout: make all)" if language == "python" else ""
        return _unready(manifest, language, "E-NODE-OUTDATED", OF_ANOTHER_VERSION, again)
    version = str(about.get("version", ""))
    return Readiness(manifest.name, language, True, version, command=tuple(command), about=about, environment=variables)


def _absent_part(manifest: Manifest, variables: Mapping[str, str], user: Owned | None) -> tuple[str, str, str] | None:
    """Return the missing part that the chosen settings or the user's environment require, as a message code, a text and
    a remedy. Return None if no part is missing. `variables` contains the environment variables of the node."""
    for name, setting in manifest.settings.items():
        value = manifest.value_in_force(name)
        if setting.needs and value != setting.default and not setting.needs.is_met(str(value), variables):
            return "E-NOT-INSTALLED", f"{value} is not installed", setting.needs.how(str(value), variables)
    if manifest.broker is not None and (missing := manifest.broker.missing):
        return "E-NO-BROKER", f"{missing} is not installed", user.remedy if user else ""
    return None


def readiness_with_codecs(manifest: Manifest, codecs: Sequence[str]) -> Readiness:
    """Return the readiness of a transport's Python node, run by a Python that has the frameworks of all given
    codecs."""
    from hopmeter.manifest import codec_interpreter  # imported here, because the module needs NumPy

    try:
        common = codec_interpreter.common_codec(codecs, manifest.offers["python"])
    except NoPythonError:
        common = None  # the function `readiness` reports the missing part
    return readiness(manifest, "python", common or codecs[0])


def describe(
    manifest: Manifest, language: str, command: Sequence[str], variables: Mapping[str, str] | None = None
) -> Readiness:
    """Start a node with `command`, and return its readiness. All nodes get the same environment
    variables, and this node also gets `variables`.

    The description that the node prints is not cached.
    """
    adapter = ["--adapter", str(manifest.folder / "python")] if language == "python" else []
    try:
        about = ask([*command, "--describe", *adapter], {**environment(), **(variables or {})})
    except UndescribedError as failed:
        return _unready(manifest, language, "E-NODE-BROKEN", str(failed))
    if about.get("spec") != SPEC_FORMAT:
        return _unready(manifest, language, "E-NODE-OUTDATED", OF_ANOTHER_VERSION)
    return Readiness(
        manifest.name,
        language,
        ready=True,
        version=str(about.get("version", "")),
        command=tuple(command),
        about=about,
        environment=dict(variables or {}),
    )


def node_command(manifest: Manifest, language: str, codec: str = NO_CODEC) -> list[str] | None:
    """Return the command that starts a node, without arguments, or None if the node is not built.

    Raises NoPythonError if the system lacks the Python that the node needs.
    """
    offer = manifest.offers[language]
    if language == "python":
        found = _interpreter(offer, codec)
        return found.command if found else None
    node = paths.node(offer.node, language)
    return [str(node)] if node else None


def node_variables(manifest: Manifest, language: str, codec: str = NO_CODEC) -> dict[str, str]:
    """Return those environment variables that only this node gets, in addition to those of all nodes."""
    offer = manifest.offers[language]
    found = _interpreter(offer, codec) if offer.variables else None
    return found.fill(offer.variables) if found else {}


def _interpreter(offer: Offer, codec: str) -> Interpreter | None:
    if codec == NO_CODEC:
        return interpreter(offer)
    from hopmeter.manifest import codec_interpreter  # imported here, because the module needs NumPy

    return codec_interpreter.interpreter(codec, offer)


def _frameworkless(manifest: Manifest, codec: str) -> tuple[str, str]:
    """Return the error message and the install command if no Python has the packages of both the transport and the
    codec.

    The install command is the same for all transports that use hopmeter's own Python.
    """
    from hopmeter.manifest import codec_interpreter

    if codec_interpreter.joint_environment(codec, manifest.offers["python"]) is None:
        return f"the packages of {codec} are not installed", f"hopmeter build --framework {codec}"
    both = f"no Python here has both {manifest.name} and {codec}"
    return both, f"hopmeter build {manifest.reference} --framework {codec}"


DEFAULTS = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Default environment variables of nodes.

By default, JAX allocates three quarters of a GPU's memory at startup. Nodes with another framework would then find too
little memory on the same GPU.
"""


def environment() -> dict[str, str]:
    """Return the environment variables that all nodes have.

    The variables make it possible to import hopmeter, and prevent libraries from starting compute threads.
    """
    tree = paths.checkout()
    folders = [str(tree)] if tree else []
    if os.environ.get("PYTHONPATH"):
        folders.append(os.environ["PYTHONPATH"])
    found = {"PYTHONPATH": os.pathsep.join(folders)} if folders else {}
    # Node logs are always in UTF-8, whatever encoding the terminal uses, and characters that cannot be encoded are
    # escaped.
    fixed = {"PYTHONIOENCODING": "utf-8:backslashreplace", "OMP_NUM_THREADS": "1"}
    return {**DEFAULTS, **os.environ, **fixed, **found}


def _unready(manifest: Manifest, language: str, code: str, missing: str, get: str = "") -> Readiness:
    built = get or f"hopmeter build {manifest.reference}"
    return Readiness(manifest.name, language, ready=False, code=code, missing=missing, get=built)


def _depends_on(manifest: Manifest, language: str, command: Sequence[str], codec: str) -> list[Path]:
    """Return the files on which a node's description depends.

    The description of a Python adapter also depends on the packages of its environment.
    """
    if language != "python":
        return [Path(command[0])]
    here = manifest.folder / "python"
    shared = manifest.folder.parent.glob("_*/python/*.py")
    instrument = paths.PACKAGE.glob("_instrument*.so")
    found = _interpreter(manifest.offers[language], codec)
    packages = (*found.packages, found.user_packages) if found else ()
    return [Path(command[0]), *packages, *sorted(here.rglob("*.py")), *sorted(shared), *sorted(instrument)]


def _mark(files: Iterable[Path]) -> Mark:
    return [[str(path), path.stat().st_mtime_ns, path.stat().st_size] for path in files if path.exists()]


def _user_library(user: Owned | None) -> Mark:
    """Return where the library that the user installed is located, because another location may contain another
    version."""
    return [[user.variable, user.location]] if user else []


def _cache_file(manifest: Manifest, language: str, mark: Mark) -> Path:
    # The name of the cache file depends on the Python environment, the settings and the environment variables, because
    # each of these may select a different library. If all terminals shared one file, two terminals would overwrite each
    # other's descriptions.
    variables = [each for each in mark if len(each) == 2]
    place = zlib.crc32(f"{manifest.folder} {manifest.key} {sys.prefix} {mark[0][0]} {variables}".encode())
    return paths.cache() / "describe" / f"{manifest.name}-{paths.language_word(language)}-{place}.json"
