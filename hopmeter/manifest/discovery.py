"""Discovers transports by searching directories. There is no central list of transports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.manifest.interpreter import NoPythonError, interpreter
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.model.old_names import rename_old_manifest_names
from hopmeter.system import paths, toml_files


def every(folders: Iterable[Path] | None = None) -> dict[str, Manifest]:
    """Return all transports by name. A broken manifest is skipped, so that it does not affect the transports with valid
    manifests."""
    return _read(folders)[0]


def broken_manifests(folders: Iterable[Path] | None = None) -> dict[str, UsageError]:
    """Return the errors in all broken manifests, keyed by the name of each manifest's directory."""
    return _read(folders)[1]


def _read(folders: Iterable[Path] | None) -> tuple[dict[str, Manifest], dict[str, UsageError]]:
    good: dict[str, Manifest] = {}
    wrong: dict[str, UsageError] = {}
    for path in paths.manifests(folders):
        try:
            good[path.parent.name] = load(path)
        except UsageError as error:
            wrong[path.parent.name] = error
    return good, wrong


def load(path: Path) -> Manifest:
    """Load a manifest. Raises a UsageError that lists all errors in the manifest."""
    manifest = toml_files.validate(Manifest, rename_old_manifest_names(toml_files.read(path), str(path)), str(path))
    if manifest.name != path.parent.name:
        raise UsageError(
            "E-VALUES-CONFLICT",
            f'{path}: name = "{manifest.name}" differs from the name of its folder, "{path.parent.name}"',
            "use the same name for both",
        )
    manifest._folder = path.parent
    if manifest.any_broker is not None and "python" in manifest.offers:
        manifest.any_broker._python = partial(_python, manifest.offers["python"])
    return manifest


def _python(offer: Offer) -> str | None:
    """Return the path of the Python that runs a transport's nodes (and, for some transports, the broker), or None if
    this Python is not available."""
    try:
        found = interpreter(offer)
    except NoPythonError:
        return None
    return str(found.program) if found else None


GROUPS: dict[str, Callable[[Manifest], bool]] = {
    "all": lambda manifest: manifest.ranked,
    "direct": lambda manifest: manifest.ranked and manifest.broker is None and not manifest.named_only,
}
"""Words that select several transports. The word `all` selects every rankable transport.

`direct` selects the rankable transports that need no broker, except transports that a user must name.
"""


def select_transports(words: Iterable[str], manifests: dict[str, Manifest] | None = None) -> dict[str, Manifest]:
    """Return the transports that the user selects with transport names and with the names of groups, such as `direct`.
    Raises UsageError if a transport name is unknown."""
    known = every() if manifests is None else manifests
    found: dict[str, Manifest] = {}
    for word in words:
        group = GROUPS.get(word)
        found |= (
            {name: each for name, each in known.items() if group(each)} if group else find_transports([word], known)
        )
    return found


def find_transports(names: Iterable[str], manifests: dict[str, Manifest] | None = None) -> dict[str, Manifest]:
    """Return the transports with the given names.

    Raises UsageError if a manifest is broken or a transport name is unknown. If a transport name is unknown, the error
    suggests the most similar name.
    """
    known = every() if manifests is None else manifests
    wanted = list(names)
    for name in wanted:
        if name not in known:
            raise broken_manifests().get(name) or UsageError(
                "E-UNKNOWN-TRANSPORT", f"transport {toml_files.one_of(name, known)}"
            )
    return {name: known[name] for name in wanted}
