"""Measure the sizes of encoded objects in the Python environment whose nodes will send them, and cache the sizes.

The cache saves time, because importing a framework takes seconds. The size of an encoded object depends on the Python
environment, the packages of the codec, and hopmeter's code. Environments with the same packages and code share cached
sizes.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hopmeter.manifest.interpreter import Interpreter
from hopmeter.manifest.readiness import environment
from hopmeter.system import paths

PATIENCE_S = 120
"""The time limit in seconds for measuring sizes. Some frameworks take a minute to import on a busy machine."""
GPU_FILES = ("nvidia[0-9]*", "dri/renderD*", "kfd")
GPU_WORDS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "JAX_PLATFORMS")

Weights = dict[str, tuple[int, str]]
"""The size of each payload in bytes, or the reason why the object cannot be created."""


class Asked:
    """A request to measure the encoded sizes of one codec's objects, on one device and with one way of sharing memory.

    Requests for equal Python environments are merged. `python` is None if the command that starts the node comes from
    another installation of hopmeter.
    """

    def __init__(
        self, command: tuple[str, ...], python: Interpreter | None, codec: str, device: str, share: str
    ) -> None:
        self.command, self.codec, self.device, self.share = command, codec, device, share
        self.payloads: dict[str, None] = {}
        """The distinct payloads, in order of first appearance."""
        self.lasts = python is not None
        alike = [*_alike(python, codec), _code()] if python else command
        self.identity = json.dumps([alike, codec, device, share, _gpus() if device != "cpu" else ()])

    def answer(self) -> Weights:
        """Return the sizes of all payloads of the request. Cached sizes are not measured again."""
        known = _cached_sizes(self.identity) if self.lasts else {}
        rest = [payload for payload in self.payloads if payload not in known]
        if not rest:
            return known
        said, lasting = _weigh([*self.command, "--weigh", self.codec, self.device, self.share], rest)
        if lasting and self.lasts:
            _remember(self.identity, known | lasting)
        return known | said


def weights(asked: Sequence[Asked]) -> Mapping[str, Weights]:
    """Return the sizes that each request asks for, keyed by the identity of the request.

    At most one measuring process per core runs at a time.
    """
    one_each: dict[str, Asked] = {}
    for one in asked:
        one_each.setdefault(one.identity, one).payloads.update(one.payloads)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(one_each, pool.map(Asked.answer, one_each.values()), strict=True))


def _alike(python: Interpreter, codec: str) -> list[Any]:
    """Return the properties of a Python environment that may change the size of a codec's objects."""
    from hopmeter.manifest import codec_interpreter  # this module imports NumPy, which only codecs need

    versions = codec_interpreter.versions(codec, python)
    # If the version of a package is unknown, the package directories distinguish the environments.
    folders = [] if all(versions) else [(str(each), each.stat().st_mtime_ns) for each in python.packages]
    return [str(python.program.resolve()), versions, folders]


@functools.cache
def _code() -> int:
    """Return a fingerprint of the code with which hopmeter encodes and decodes objects."""
    folders = (paths.PACKAGE / "codecs", paths.PACKAGE / "node")
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return zlib.crc32(repr([(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]).encode())


def _gpus() -> list[str]:
    """Return the GPUs of this machine, and the environment variables that select some of them. Object sizes may change
    if a GPU appears or disappears."""
    files = sorted(str(path) for pattern in GPU_FILES for path in Path("/dev").glob(pattern))
    return [*files, *(f"{word}={os.environ.get(word)}" for word in GPU_WORDS)]


def _memory(identity: str) -> Path:
    return paths.cache() / "weights" / f"{zlib.crc32(identity.encode()):08x}.json"


def _cached_sizes(identity: str) -> Weights:
    try:
        kept = json.loads(_memory(identity).read_text())
        return {payload: (found[0], found[1]) for payload, found in kept[identity].items()}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _remember(identity: str, known: Weights) -> None:
    path = _memory(identity)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps({identity: known}))
        beside.replace(path)
    except OSError:
        pass  # without the cache, the next plan only takes longer


def _weigh(command: list[str], payloads: Sequence[str]) -> tuple[Weights, Weights]:
    """Measure the sizes of objects in a separate process, because a framework may crash or start threads. Return all
    measured sizes, and the sizes that may be cached.

    The error for a missing GPU may be cached, because the fingerprint changes when a GPU appears. No other error is
    cached, because its cause may soon disappear; for example, memory may become free.
    """
    try:
        done = subprocess.run(
            [*command, *payloads],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(),
            timeout=PATIENCE_S,
            check=False,
        )
        said = json.loads(done.stdout.splitlines()[-1])
        found = {payload: (said[payload].get("bytes", 0), said[payload].get("missing", "")) for payload in payloads}
        lasting = {each: found[each] for each in found if found[each][0] or said[each].get("code") == "E-NO-DEVICE"}
    except subprocess.TimeoutExpired:
        why = f"importing its framework took more than {PATIENCE_S} s"
    except (OSError, ValueError, LookupError):
        why = "importing its framework ended the process"
    else:
        return found, lasting
    return dict.fromkeys(payloads, (0, why)), {}
