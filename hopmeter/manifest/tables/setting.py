"""Defines a transport's setting: its default, its allowed values, and the environment variables that it sets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables import setting_file
from hopmeter.manifest.tables.allowed_words import Language, Placement, Value, Wait
from hopmeter.manifest.tables.library_parts import Needs
from hopmeter.manifest.tables.strict import Strict
from hopmeter.manifest.tables.user_environment import value_in_environment
from hopmeter.system import humanize
from hopmeter.system.toml_files import one_of

VALUE = "{value}"
FOLDER = "{folder}"
"""Placeholders in the texts of `variables`: the setting's value, and the transport's directory."""
SECURITY, OFF = "security", "off"
"""The name of the setting that switches encryption on, and the setting's default value."""


class Setting(Strict):
    """A setting of a transport: its default value and the other values that are allowed."""

    default: Value
    help: str
    choices: list[str] | None = None
    choice_help: dict[str, str] = {}
    """What each choice does. Each text is a clause that is printed after the choice's name."""
    choice_placements: dict[str, Annotated[list[Placement], Field(min_length=1)]] = {}
    """The placements that a choice requires. A choice that is not listed works with all placements."""
    min: float | None = None
    max: float | None = None
    languages: list[Language] | None = None
    """The languages in which the setting has an effect. By default, the setting has an effect in all languages.

    The keys `waits`, `patterns` and `placements` limit the effect of the setting in the same way.
    """
    waits: list[Wait] | None = None
    patterns: list[Literal["pubsub", "rpc"]] | None = None
    placements: list[Placement] | None = None
    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """The values of other settings for which this setting has an effect."""
    pattern: str = ""
    """A regular expression for the allowed values of a word without `choices`. The default value need not match the
    pattern."""
    file: bool = False
    """Whether a value other than the default is the path of an existing file."""
    text: str = ""
    """For a file setting: a value that begins with this text is the content of the file itself, not a path."""
    variables: dict[str, str] = {}
    """Environment variables for nodes and broker if the value is not the default.

    `{value}` stands for the value, and `{folder}` for the transport's directory.
    """
    needs: Needs | None = None
    """The parts of the library that the user must install for values other than the default."""

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Setting:
        self.check(self.default)
        for choice in (*self.choice_placements, *self.choice_help):
            self.check(choice)
        return self

    def check(self, value: Value) -> Value:
        """Check a value of the setting, and return it converted to the type of the default value.

        If the value is not allowed, raises a RefusedValueError that lists the allowed values.
        """
        value = float(value) if isinstance(self.default, float) and type(value) is int else value
        if type(value) is not type(self.default):
            raise RefusedValueError(
                "E-VALUE-FORM", f"{value!r} is no {_kind(self.default)}; the default is {self.default!r}"
            )
        if self.choices is not None and value not in self.choices:
            raise RefusedValueError("E-VALUE-CHOICE", one_of(value, self.choices))
        if self.pattern and value != self.default and not re.fullmatch(self.pattern, str(value)):
            said = f'"{value}" is neither "{self.default}" nor of the form {self.pattern}'
            raise RefusedValueError("E-VALUE-CHOICE", said)
        if self.file and value != self.default:
            return setting_file.find(str(value), self.text)
        if self.min is not None and not isinstance(value, str) and value < self.min:
            raise RefusedValueError("E-VALUE-RANGE", f"{value} is below the minimum, {self.min:g}")
        if self.max is not None and not isinstance(value, str) and value > self.max:
            raise RefusedValueError("E-VALUE-RANGE", f"{value} is above the maximum, {self.max:g}")
        return value

    def in_force(self, value: Value) -> Value:
        """Return the value of the setting with which the nodes will actually run. If the value is the default value,
        the user's environment may override it."""
        if value != self.default or not isinstance(value, str):
            return value
        return value_in_environment(self.variables, VALUE) or value

    def fill(self, value: Value, folder: Path) -> dict[str, str]:
        """Return the environment variables that pass a value of the setting to the nodes. The default value is passed
        without environment variables.

        `folder` is the transport's directory.
        """
        if value == self.default:
            return {}
        texts = ((name, text.replace(FOLDER, str(folder))) for name, text in self.variables.items())
        return {name: text.replace(VALUE, humanize.setting(value)) for name, text in texts}

    def label(self, value: Value) -> str:
        """Return the word that results show for a value of the setting. If the value is a file, the word contains a
        hash of the file's content."""
        return setting_file.label(str(value), self.text) if self.file else humanize.setting(value)

    def parse(self, word: str) -> Value:
        """Convert a word that the user typed to a value of the setting. If the value is not allowed, raises a
        RefusedValueError that lists the allowed values."""
        if isinstance(self.default, bool):
            words = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
            if word.lower() not in words:
                raise RefusedValueError("E-VALUE-CHOICE", one_of(word, ["true", "false"]))
            return words[word.lower()]
        try:
            return self.check(type(self.default)(word))
        except ValueError as cause:
            if isinstance(cause, RefusedValueError) and cause.code != "E-VALUE-FORM":
                raise
            raise RefusedValueError("E-VALUE-FORM", f'"{word}" is no {_kind(self.default)}') from cause


def _kind(value: Value) -> str:
    return {"bool": "true or false", "int": "whole number", "float": "number", "str": "word"}[type(value).__name__]
