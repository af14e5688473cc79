"""Writes a topology's workload as the TOML text of a scenario."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from hopmeter.scenario.topology.converter import DURATION_S, TOO_LATE_MS, Graph

WIDTH = 120


def format_scenario(graph: Graph, title: str, source: str) -> str:
    """Return a workload as the TOML text of a scenario."""
    lines = [
        f"# Names, rates and sizes are those of {source}, a topology of iRobot's ros2-performance.",
        "# A payload is as large as a message's data, excluding the header. The deadline is the benchmark's limit for",
        f"# late messages: one period, at most {TOO_LATE_MS} ms. A participant handles one message at a time.",
        *_comments(graph.notes),
        f"title = {json.dumps(title, ensure_ascii=False)}",
        f"question = {json.dumps(f'Which middleware meets the deadlines of {title}?', ensure_ascii=False)}",
        'transport = ["zeromq", "nng"]',
        'language = "one"',
        'wait = "block"',
        f'duration = "{DURATION_S}s"',
        'budget = "3m"',
        *_settings(graph.settings),
        "",
        "[participant]",
        *(f"{name} = {{ threads = 1 }}" for name in graph.participants),
        "",
        "[flow]",
        *(f"{name} = {{ {_format_table(keys)} }}" for name, keys in graph.flows.items()),
    ]
    return "\n".join(lines) + "\n"


def _comments(notes: Iterable[str]) -> list[str]:
    """Return notes as comment lines.

    Control characters are replaced with spaces, because TOML comments must not contain them.
    """
    plain = ("".join(each if each.isprintable() else " " for each in note) for note in notes)
    return [
        line
        for note in plain
        for line in textwrap.wrap(
            note, WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False
        )
    ]


def _settings(settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    if not settings:
        return []
    said = "# The quality of service of all topics, for transports that have it."
    return ["", said, "[settings]", *(f"{name} = {{ {_format_table(keys)} }}" for name, keys in settings.items())]


def _format_table(keys: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())
