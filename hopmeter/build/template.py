"""Implements `hopmeter new transport`: copies `transports/_template` under a new name, in the requested languages."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.manifest.discovery import GROUPS

FOLDERS = {"rust": "rust", "c++": "cpp", "python": "python"}
WORD = "parcel"
"""The template's name, which is replaced in file names and file contents."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def create(name: str, languages: Sequence[str], template: Path, transports: Path) -> Path:
    """Create `transports/NAME`, and return the directory.

    Raises UsageError if the name or a language is invalid, or if the directory exists.
    """
    folder = transports / name
    if NAME.fullmatch(name) is None:
        raise UsageError(
            "E-NAME",
            f"`{name}` is not a valid name for a transport",
            "use lower-case letters and digits, with single dashes between words",
        )
    if name in GROUPS:
        raise UsageError("E-NAME", f"`{name}` is reserved: it selects several transports", "choose another name")
    if unknown := [language for language in languages if language not in FOLDERS]:
        raise UsageError(
            "E-UNKNOWN-LANGUAGE", f"`{unknown[0]}` is not an adapter language", f"choose from {', '.join(FOLDERS)}"
        )
    if folder.exists():
        raise UsageError(
            "E-EXISTS", f"{folder} already exists", "choose another name, or remove the existing transport"
        )
    _copy(template, folder, languages)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        _rename(file, name)
    _keep_languages(folder / "transport.toml", languages)
    return folder


def _copy(template: Path, folder: Path, languages: Sequence[str]) -> None:
    left_out = [part for language, part in FOLDERS.items() if language not in languages]
    shutil.copytree(template, folder, ignore=shutil.ignore_patterns(*left_out, "__pycache__", "target", "build"))


def _rename(file: Path, name: str) -> None:
    title = "".join(word.capitalize() for word in name.split("-"))
    text = file.read_text().replace(WORD, name).replace(WORD.capitalize(), title)
    file.write_text(text)
    if WORD in file.name:
        file.rename(file.with_name(file.name.replace(WORD, name)))


def _keep_languages(manifest: Path, languages: Sequence[str]) -> None:
    """Remove the manifest's sections for languages that were not requested."""
    sections = re.split(r"(?m)^(?=\[)", manifest.read_text())
    kept = [section for section in sections if _language(section) in (None, *languages)]
    manifest.write_text("".join(kept))


def _language(section: str) -> str | None:
    found = re.match(r'\[languages\."?([^"\]]+)"?\]', section)
    return found[1] if found else None
