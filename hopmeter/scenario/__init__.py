"""Reads scenarios: TOML files that each ask one question. The command line can override parts of a scenario."""

from hopmeter.scenario.files import every, find, load
from hopmeter.scenario.model import Scenario
from hopmeter.scenario.payload_cases import payload_notes
from hopmeter.scenario.question import has_own_question, question
from hopmeter.scenario.replace import lengthen, override, shorten
from hopmeter.scenario.resolve import Ask, asks

__all__ = [
    "Ask",
    "Scenario",
    "asks",
    "every",
    "find",
    "has_own_question",
    "lengthen",
    "load",
    "override",
    "payload_notes",
    "question",
    "shorten",
]
