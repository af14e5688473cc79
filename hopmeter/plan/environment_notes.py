"""Warn about the user's environment variables that settings override."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from hopmeter.manifest import Manifest
from hopmeter.model.cell import Cell
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.carriers import carriers


def environment_notes(cells: Iterable[Cell], capabilities: Capabilities) -> list[str]:
    """Return a note for each of the user's environment variables that a transport's settings override in every cell."""
    used: dict[str, list[dict[str, object]]] = {}
    for each in (
        carrier for cell in cells for carrier in carriers(cell) if carrier.transport in capabilities.manifests
    ):
        used.setdefault(each.transport, []).append(each.settings)
    return [
        f"{variable}={os.environ[variable]} in your environment has no effect here: every cell of {transport} sets "
        f"{name}"
        for transport, settings in used.items()
        for name, variable in _user_variables(capabilities.manifests[transport])
        if all(each[name] != capabilities.manifests[transport].settings[name].default for each in settings)
    ]


def _user_variables(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield each setting whose environment variable the user has set, with the name of the variable."""
    for name, setting in manifest.settings.items():
        yield from ((name, variable) for variable in setting.variables if os.environ.get(variable))
