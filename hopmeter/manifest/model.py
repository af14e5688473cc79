"""The manifest of a transport, `transport.toml`: the features in each language, and the settings."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.daemon import Daemon
from hopmeter.manifest.strict import Strict
from hopmeter.manifest.user_install import Owned
from hopmeter.system.toml_files import one_of

Language = Literal["rust", "c++", "python"]
Wait = Literal["spin", "block", "callback"]
Placement = Literal["thread", "process"]
Pattern = Literal["pubsub", "rpc"]
Value = bool | int | float | str

LANGUAGES: tuple[Language, ...] = ("rust", "c++", "python")
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]


LONGEST_S = 60.0
"""If a wheel is available, a build that takes longer than this is skipped."""


class Setting(Strict):
    """One setting of a transport: its default, and the other allowed values."""

    default: Value
    help: str
    choices: list[str] | None = None
    min: float | None = None
    max: float | None = None
    languages: list[Language] | None = None
    """The languages in which the setting has an effect; all by default. The next three keys have the same form."""
    waits: list[Wait] | None = None
    patterns: list[Literal["pubsub", "rpc"]] | None = None
    placements: list[Placement] | None = None
    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """Other settings, with those of their values for which this setting has an effect."""

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Setting:
        self.check(self.default)
        return self

    def check(self, value: Value) -> Value:
        """Convert the value to the type of the default. Raises ValueError with the allowed values."""
        value = float(value) if isinstance(self.default, float) and type(value) is int else value
        if type(value) is not type(self.default):
            raise RefusedValueError(
                "E-VALUE-FORM", f"{value!r} is no {_kind(self.default)}; the default is {self.default!r}"
            )
        if self.choices is not None and value not in self.choices:
            raise RefusedValueError("E-VALUE-CHOICE", one_of(value, self.choices))
        if self.min is not None and not isinstance(value, str) and value < self.min:
            raise RefusedValueError("E-VALUE-RANGE", f"{value} is below the minimum, {self.min:g}")
        if self.max is not None and not isinstance(value, str) and value > self.max:
            raise RefusedValueError("E-VALUE-RANGE", f"{value} is above the maximum, {self.max:g}")
        return value

    def parse(self, word: str) -> Value:
        """Convert a word of the command line to a value. Raises ValueError with the allowed values."""
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


class BuildCost(Strict):
    """The cost of the first build, with two cores and an empty cache. The instrument and system packages do not count,
    because many transports share them."""

    seconds: Annotated[float, Field(gt=0)]
    megabytes: Annotated[float, Field(ge=0)] = 0
    """The size of the download in megabytes."""


class LanguagePart(Strict):
    """A transport in one language: its library, how to install it, and how it differs from the other languages."""

    waits: Annotated[list[Wait], Field(min_length=1)]
    library: str
    pip: list[str] = []
    apt: list[str] = []
    build_cost: BuildCost | None = None
    copies: bool = False
    """Whether the adapter offers its library's own copy function (`work = "copy:frame:own"`)."""
    user: Owned | None = None
    """How the user installs the library, if no registry has it."""
    after: Language | None = None
    """The language of the same transport whose build also produces a part of this adapter."""
    preload: str = ""
    """For Python: a shared library in the node folder that is loaded before all other libraries."""
    environment: Literal["own"] | None = None
    """For Python: `own` if its packages conflict with others, so that they get a separate environment."""
    interpreter: Literal["system"] | None = None
    """For Python: `system` if its packages belong to the system, so that its nodes run on the system's Python."""
    objects: list[str] = []
    """For Python: the codecs whose objects the transport encodes itself; most transports carry bytes and have none."""
    network: dict[str, Value] | None = None
    """For Python: the settings with which link ends at `host(setup)` reach another machine; None if they cannot."""
    patterns: list[Pattern] | None = None
    placements: list[Placement] | None = None
    loan: bool | None = None
    parts: bool | None = None
    forward: Literal["copy", "move"] | None = None
    send: Literal["nonblocking", "blocking"] | None = None
    keep: bool | None = None
    max_payload_bytes: Annotated[int, Field(gt=0)] | None = None


class ConformanceSettings(Strict):
    """Settings with which the conformance suite also tests a transport, and the conditions of that test."""

    settings: Annotated[dict[str, Value], Field(min_length=1)]
    placement: Placement = "process"
    wait: Wait | None = None
    """The default is the first wait that does not spin."""
    languages: list[Language] | None = None
    """The default is all patterns."""
    path: str = ""
    """A regular expression for the fact `path` of the receiver; a match proves that the setting takes effect."""
    facts: dict[str, str] = {}
    """Regular expressions for other facts of the receiver, by the names of the facts."""
    payload_bytes: Annotated[int, Field(gt=0)] = 60_000
    """The largest payload that these settings carry."""
    meets: list[Language] = []
    """Peers with default settings with which the adapter must also exchange messages, in both directions."""


class Offer(BaseModel):
    """What a transport offers in one language, with every default filled in."""

    model_config = ConfigDict(frozen=True)

    transport: str
    language: Language
    waits: list[Wait]
    placements: list[Placement]
    patterns: list[str]
    loan: bool
    parts: bool
    forward: str
    send: str
    keep: bool
    max_payload_bytes: int
    """The largest payload that the adapter sends and receives, in bytes."""
    library: str
    pip: list[str]
    apt: list[str]
    build_cost: BuildCost | None
    copies: bool = False
    user: Owned | None = None
    after: str | None = None
    preload: str = ""
    environment: str | None = None
    interpreter: str | None = None
    objects: list[str] = []
    network: dict[str, Value] | None = None

    @property
    def is_heavy(self) -> bool:
        """Return whether another language is preferred if one language is enough."""
        return self.build_cost is not None and self.build_cost.seconds > LONGEST_S

    @property
    def is_installed(self) -> bool:
        """Return False only if something is missing that the user must install."""
        return self.user is None or self.user.is_here


class Manifest(Strict):
    """A whole `transport.toml`."""

    name: Name
    title: str
    summary: str
    placements: Annotated[list[Placement], Field(min_length=1)]
    patterns: Annotated[list[Pattern], Field(min_length=1)]
    rpc: Literal["native", "duplex"] | None = None
    send: Literal["nonblocking", "blocking"]
    loan: bool = False
    parts: bool = False
    forward: Literal["copy", "move"] = "copy"
    keep: bool = False
    system_copies: Annotated[int, Field(ge=0)] | None = None
    """Copies of a payload that the operating system makes on each hop; None if unknown."""
    reply: Literal["inline", "deferred"] | None = None
    carriage: Literal["raw", "typed"] = "raw"
    max_payload_bytes: Annotated[int, Field(gt=0)]
    max_receivers: Annotated[int, Field(gt=0)] | None = None
    """The largest payload of one link; None if only memory limits it."""
    ranked: bool = True
    installable: bool = True
    """Whether it is a library that a program can install; otherwise hopmeter uses it only as a reference."""
    cross_language: bool = True
    leftovers: list[str] = []
    languages: Annotated[dict[Language, LanguagePart], Field(min_length=1)]
    daemon: Daemon | None = None
    settings: dict[str, Setting] = {}
    conformance: list[ConformanceSettings] = []

    _folder: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _rpc_is_explained(self) -> Manifest:
        if ("rpc" in self.patterns) != (self.rpc is not None):
            raise RefusedValueError(
                "E-VALUES-CONFLICT",
                'rpc = "native" or "duplex" is required if `patterns` contains "rpc", and is not allowed otherwise',
            )
        if self.reply is not None and self.rpc != "native":
            raise RefusedValueError("E-VALUES-CONFLICT", 'reply = "inline" or "deferred" needs rpc = "native"')
        return self

    @model_validator(mode="after")
    def _leftovers_are_ours(self) -> Manifest:
        for pattern in self.leftovers:
            if "{run}" not in pattern or not pattern.startswith("/"):
                raise RefusedValueError(
                    "E-VALUE-FORM",
                    f'leftovers: "{pattern}" must be an absolute path that contains {{run}}, '
                    "so that no other files match",
                )
        return self

    @model_validator(mode="after")
    def _conformance_can_be_set(self) -> Manifest:
        for case in self.conformance:
            for name, value in case.settings.items():
                if name not in self.settings:
                    raise RefusedValueError("E-UNKNOWN-SETTING", f"conformance: {one_of(name, self.settings)}")
                self.settings[name].check(value)
        return self

    @model_validator(mode="after")
    def _where_can_be_set(self) -> Manifest:
        for name, setting in self.settings.items():
            for other, values in setting.where.items():
                if other not in self.settings:
                    raise RefusedValueError(
                        "E-UNKNOWN-SETTING", f"settings.{name}.where: {one_of(other, self.settings)}"
                    )
                for value in values:
                    self.settings[other].check(value)
        return self

    @model_validator(mode="after")
    def _languages_can_have_it(self) -> Manifest:
        for language, part in self.languages.items():
            given = [name for name in PYTHON_ONLY if getattr(part, name) not in (None, "", [])]
            if given and language != "python":
                raise RefusedValueError("E-VALUES-CONFLICT", f'{language}: "{given[0]}" is for Python only')
            if part.interpreter and (part.environment or part.pip):
                raise RefusedValueError(
                    "E-VALUES-CONFLICT",
                    'interpreter = "system" uses packages of the system; remove `environment` and `pip`',
                )
            for name, value in (part.network or {}).items():
                if name not in self.settings:
                    raise RefusedValueError("E-UNKNOWN-SETTING", f"network: {one_of(name, self.settings)}")
                self.settings[name].check(value)
        return self

    @property
    def folder(self) -> Path:
        """Return the transport's folder."""
        return self._folder

    @cached_property
    def offers(self) -> dict[str, Offer]:
        """Return the offers by language, in the order of `LANGUAGES`."""
        return {word: self._offer(word) for word in LANGUAGES if word in self.languages}

    def _offer(self, language: Language) -> Offer:
        part = self.languages[language]
        own: dict[str, Any] = {name: getattr(part, name) for name in OVERRIDES}
        own = {name: getattr(self, name) if value is None else value for name, value in own.items()}
        own["patterns"] = [*own["patterns"], *(["scatter"] if "rpc" in own["patterns"] else [])]
        plain = {name: getattr(part, name) for name in PLAIN}
        plain["apt"] = [*plain["apt"], *(self.daemon.apt if self.daemon else [])]
        return Offer(transport=self.name, language=language, **own, **plain)

    @property
    def language_pairs(self) -> list[str]:
        """Return the languages of source and sink that can exchange messages: `rust`, `rust>python`, …"""
        return [
            one if one == other else f"{one}>{other}"
            for one in self.offers
            for other in self.offers
            if one == other or self.cross_language
        ]

    def resolve_settings(self, given: dict[str, Value]) -> dict[str, Value]:
        """Return every setting, with the given values instead of the defaults."""
        return {name: given.get(name, setting.default) for name, setting in self.settings.items()}


PYTHON_ONLY = ("preload", "environment", "interpreter", "objects", "network")
PLAIN = ("waits", "library", "pip", "apt", "build_cost", "copies", "user", "after", *PYTHON_ONLY)
"""Keys that only the table of a language may have."""
OVERRIDES = ("patterns", "placements", "loan", "parts", "forward", "send", "keep", "max_payload_bytes")
"""Keys whose values for a language may differ from those of the transport."""
