"""Find transport settings that may explain why a cell lost messages or could not keep up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hopmeter import manifest
from hopmeter.manifest.tables.allowed_words import LANGUAGES
from hopmeter.manifest.tables.hint import Hint
from hopmeter.messages import tag
from hopmeter.model.cell import Cell

Values = Mapping[str, Any]
CODE = "W-SETTING"


def setting_warnings(cell: Cell, columns: Values) -> list[str]:
    """Return a warning for each transport setting that may explain why a row lost messages or was overloaded. Losses
    before the first message that arrived cause no warning, because the link did not exist yet and no setting would
    help."""
    symptoms = [*(["lost"] if columns["lost"] else []), str(columns["status"])]
    known = manifest.every().get(cell.axes.transport)
    if known is None or cell.is_whole_workload or cell.path or cell.axes.measures_moments:
        return []
    way = str(columns.get("carried_by") or "")
    return [tag("W-SETTING", hint.sentence) for hint in known.hint if _applies(hint, cell, symptoms, way)]


def _applies(hint: Hint, cell: Cell, symptoms: list[str], way: str) -> bool:
    if hint.placement not in (None, cell.axes.placement) or not re.search(hint.path, way):
        return False
    spoken = [each for each in LANGUAGES if each in cell.axes.language.split(">")]
    if hint.languages is not None and not set(spoken) <= set(hint.languages):
        return False
    carriage = cell.carriage
    return hint.applies(symptoms, carriage.settings, carriage.payload_bytes, cell.axes.sinks)
