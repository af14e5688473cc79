"""Defines a transport's manifest, `transport.toml`: its capabilities in each language, and its settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables.acknowledgement import Acknowledgement
from hopmeter.manifest.tables.allowed_words import LANGUAGES, Language, Pattern, Placement, Value
from hopmeter.manifest.tables.broker import BrokerTable
from hopmeter.manifest.tables.conformance_settings import ConformanceSettings, Lossless
from hopmeter.manifest.tables.hint import Hint
from hopmeter.manifest.tables.language_part import ONLY_FOR, LanguagePart, Offer, check_installations
from hopmeter.manifest.tables.setting import Setting
from hopmeter.manifest.tables.strict import Strict
from hopmeter.system import humanize
from hopmeter.system.toml_files import one_of

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]


class Manifest(Strict):
    """A complete `transport.toml`."""

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
    network: dict[str, Value] | None = None
    """The settings that let messages reach another machine, or None if messages cannot."""
    meets_in_folder: bool = False
    """Whether endpoints find each other through the trial's directory.

    Each agent on a machine has a trial directory of its own.
    """
    message_limit: bool = False
    """Whether receivers reject a message that is larger than the largest frame before they allocate memory for the
    message."""
    system_copies: Annotated[int, Field(ge=0)] | None = None
    """How many times the operating system copies a payload on each hop, or None if unknown."""
    reply: Literal["inline", "deferred"] | None = None
    carriage: Literal["raw", "typed"] = "raw"
    max_payload_bytes: Annotated[int, Field(gt=0)]
    max_receivers: Annotated[int, Field(gt=0)] | None = None
    """The maximum number of receivers on one link, or None if the library has no limit."""
    varying_sizes: bool = True
    """Whether the messages of a link may have different sizes, up to the link's maximum."""
    late_processes: bool = True
    """Whether a process can join the others, or replace one of them, after the first message."""
    run_together: str = ""
    """The command that starts both programs of an example, for a library whose programs cannot be started one by one.

    `{first}` and `{second}` stand for the commands of the two programs.
    """
    ranked: bool = True
    named_only: bool = False
    """Whether the transport runs only if a user names it, so that `direct` excludes it."""
    installable: bool = True
    """Whether the transport is a library that a program can install. A transport that is not installable serves only as
    a reference."""
    usual_language: Language | None = None
    """The language that `language = "one"` measures if several languages suit a cell equally well."""
    cross_language: bool = True
    leftovers: list[str] = []
    open_leftovers: dict[str, list[str]] = {}
    """Patterns for leftover files with names that hopmeter does not choose.

    Each pattern maps to further files that belong to a match (`{name}`).
    """
    languages: Annotated[dict[Language, LanguagePart], Field(min_length=1)]
    any_broker: BrokerTable | None = Field(None, alias="broker")
    """The broker that the transport needs, either always or with some settings."""
    settings: dict[str, Setting] = {}
    lossless: Lossless | None = None
    """How to avoid message loss, or None if every configuration can lose messages, or if it is unknown how to avoid
    loss."""
    hint: list[Hint] = []
    """Hints about settings that cause lost messages, overload or cost, and about settings that avoid them."""
    acknowledgement: list[Acknowledgement] = []
    """Who confirms a message to its sender, by settings. Empty if the library never confirms messages."""
    conformance: list[ConformanceSettings] = []

    _folder: Path = PrivateAttr(default=Path())
    _chosen: dict[str, Value] = PrivateAttr(default={})
    """The chosen values of settings that affect the environment and differ from their defaults."""

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
    def _open_leftovers_are_absolute(self) -> Manifest:
        for pattern, companions in self.open_leftovers.items():
            if not pattern.startswith("/") or pattern.rpartition("/")[2].startswith("*"):
                raise RefusedValueError(
                    "E-VALUE-FORM",
                    f'open_leftovers: "{pattern}" must be an absolute path with the beginning of a file\'s name',
                )
            for path in companions:
                if not path.startswith("/") or "{name}" not in path:
                    raise RefusedValueError(
                        "E-VALUE-FORM", f'open_leftovers: "{path}" must be an absolute path that contains {{name}}'
                    )
        return self

    @model_validator(mode="after")
    def _conformance_can_be_set(self) -> Manifest:
        for case in self.conformance:
            self._check_values("conformance", case.settings)
        self._check_values("network", self.network or {})
        self._check_values("lossless", self.lossless.settings if self.lossless else {})
        for hint in self.hint:
            self._check_values("hint.cure", hint.cure)
            self._check_where("hint.where", hint.where)
        for each in self.acknowledgement:
            self._check_where("acknowledgement.where", each.where)
            self._check_where("acknowledgement.unless", each.unless)
        return self

    def _check_values(self, key: str, values: Mapping[str, Value]) -> None:
        for name, value in values.items():
            if name not in self.settings:
                raise RefusedValueError("E-UNKNOWN-SETTING", f"{key}: {one_of(name, self.settings)}")
            self.settings[name].check(value)

    @model_validator(mode="after")
    def _where_can_be_set(self) -> Manifest:
        for name, setting in self.settings.items():
            self._check_where(f"settings.{name}.where", setting.where)
        self._check_where("broker.where", self.any_broker.where if self.any_broker else {})
        return self

    def _check_where(self, key: str, where: Mapping[str, Sequence[Value]]) -> None:
        for name, values in where.items():
            for value in values:
                self._check_values(key, {name: value})

    @model_validator(mode="after")
    def _languages_can_have_it(self) -> Manifest:
        python = self.languages.get("python")
        for language, part in self.languages.items():
            for name, only in ONLY_FOR.items():
                if getattr(part, name) not in (None, "", [], {}) and language != only:
                    said = f'{language}: "{name}" is for {only.capitalize()} only'
                    raise RefusedValueError("E-VALUES-CONFLICT", said)
            check_installations(language, part, python.installations if python else {})
            for name, each in part.installations.items():
                self._check_where(f"installations.{name}.where", each.where)
            if part.interpreter and (part.environment or part.pip):
                raise RefusedValueError(
                    "E-VALUES-CONFLICT",
                    'interpreter = "system" uses packages of the system; remove `environment` and `pip`',
                )
        return self

    def acknowledged_by(self, settings: Mapping[str, Value]) -> str:
        """Return who confirms to the sender, with the given settings, that a message has arrived: `broker`, `receiver`
        or `none`."""
        return next((each.by for each in self.acknowledgement if each.applies(settings)), "none")

    @property
    def folder(self) -> Path:
        """Return the transport's directory."""
        return self._folder

    @cached_property
    def offers(self) -> dict[str, Offer]:
        """Return what the transport supports in each language, in the order of `LANGUAGES`."""
        return {word: self._offer(word) for word in LANGUAGES if word in self.languages}

    def _offer(self, language: Language) -> Offer:
        part = self.languages[language]
        own: dict[str, Any] = {name: getattr(part, name) for name in OVERRIDES}
        own = {name: getattr(self, name) if value is None else value for name, value in own.items()}
        own["patterns"] = [*own["patterns"], *(["scatter"] if "rpc" in own["patterns"] else [])]
        plain = {name: getattr(part, name) for name in PLAIN} | self._installation(part)
        plain["apt"] = [*plain["apt"], *(self.broker.apt if self.broker else [])]
        return Offer(transport=self.name, language=language, **own, **plain)

    def _installation(self, part: LanguagePart) -> dict[str, Any]:
        """Return the manifest values that come from the installation that the settings select.

        If the library that the user installs is missing, return the values of the installation that replaces the
        library.
        """
        chosen = {name: self._chosen.get(name, setting.default) for name, setting in self.settings.items()}
        found = (name for name, each in part.installations.items() if each.is_chosen(chosen))
        is_missing = part.user is not None and not part.user.is_here
        name = next(found, part.user.otherwise if part.user is not None and is_missing else "")
        if not name:
            return {"environment_name": self.name, "variables": self.variables}
        made = part.installations[name].as_offer(part.library, f"{self.name}-{name}")
        return {**made, "variables": {**made["variables"], **self.variables}}

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables that the chosen settings define."""
        chosen = [self.settings[name].fill(value, self._folder) for name, value in self._chosen.items()]
        return {name: text for variables in chosen for name, text in variables.items()}

    @property
    def broker(self) -> BrokerTable | None:
        """Return the broker that the transport needs with the chosen settings, or None if the transport needs no
        broker."""
        broker = self.any_broker
        if broker is None or not self.has_effect(broker.where):
            return None
        own = {**self.variables, **broker.own_environment}
        return broker.model_copy(update={"own_environment": own}) if self.variables else broker

    def has_effect(self, where: Mapping[str, Sequence[Value]], settings: Mapping[str, Value] | None = None) -> bool:
        """Return whether the value of every setting in `where` is among the values that `where` lists for it.

        If no settings are given, the method checks the transport's chosen settings.
        """
        return all(self.value_in_force(name, settings) in values for name, values in where.items())

    def value_in_force(self, name: str, settings: Mapping[str, Value] | None = None) -> Value:
        """Return the value of a setting that is in effect with `settings` or, by default, with the transport's chosen
        settings.

        If a setting has its default value, the user's environment may override the value.
        """
        setting, values = self.settings[name], self._chosen if settings is None else settings
        return setting.in_force(values.get(name, setting.default))

    def for_settings(self, settings: Mapping[str, Value]) -> Manifest:
        """Return the manifest with the installations, environment variables and broker that the given settings
        select."""
        others = {name for name, each in self.settings.items() if each.variables or each.needs}
        others |= set(self.any_broker.where) if self.any_broker else set()
        return self._choose(settings, others | self.choosing)

    def for_installation(self, settings: Mapping[str, Value]) -> Manifest:
        """Return the manifest with only the installations that the given settings select."""
        return self._choose(settings, self.choosing)

    @property
    def choosing(self) -> set[str]:
        """Return the names of the settings whose values select one of several installed versions of the library."""
        return {name for part in self.languages.values() for each in part.installations.values() for name in each.where}

    def _choose(self, settings: Mapping[str, Value], names: set[str]) -> Manifest:
        chosen = {name: settings[name] for name in sorted(names & set(settings))}
        chosen = {name: value for name, value in chosen.items() if value != self.settings[name].default}
        if chosen == self._chosen:
            return self
        other = self.model_copy()
        other._chosen = chosen
        other.__dict__.pop("offers", None)
        return other

    def chooses_for(self, language: str) -> bool:
        """Return whether the chosen settings change the environment of the nodes in this language."""
        installations = any(part.installations for name, part in self.languages.items() if name == language)
        return installations or bool(set(self._chosen) - self.choosing)

    @property
    def reference(self) -> str:
        """Return the `hopmeter build` arguments that name the transport and its installation."""
        chosen = self.for_installation(self._chosen).choice
        return " ".join([self.name, *(f"--set {each}" for each in chosen)])

    @property
    def key(self) -> str:
        """Return a key that identifies the environment in which the transport's nodes run with the chosen settings."""
        return " ".join([self.name, *self.choice])

    @property
    def choice(self) -> list[str]:
        """Return, as `NAME=VALUE`, those chosen settings that affect the environment of the nodes and differ from their
        defaults."""
        return [f"{name}={self.settings[name].label(value)}" for name, value in sorted(self._chosen.items())]

    @property
    def language_pairs(self) -> list[str]:
        """Return the pairs of languages that can exchange messages, such as `rust` or, for source and sink,
        `rust>python`."""
        return [
            one if one == other else f"{one}>{other}"
            for one in self.offers
            for other in self.offers
            if one == other or self.cross_language
        ]

    def network_settings(self, given: Collection[str] = ()) -> dict[str, Value]:
        """Return the settings that let messages reach another machine. Settings in `given`, which the user has already
        set, are omitted."""
        return {name: value for name, value in (self.network or {}).items() if name not in given}

    def why_local(self, settings: Mapping[str, Value]) -> str:
        """Return why messages with the given settings cannot reach another machine, or an empty string if they can."""
        if self.network is None:
            return f"{self.name} does not leave the machine"
        for name, value in self.network.items():
            if (given := settings.get(name, self.settings[name].default)) != value:
                stays = f"{self.name} with {name}={humanize.setting(given)} does not leave the machine"
                return f"{stays}; leave {name} out, or give {name}={humanize.setting(value)}"
        return ""

    def resolve_settings(self, given: dict[str, Value]) -> dict[str, Value]:
        """Return the value of every setting: the value that the user gave, or the default value."""
        return {name: given.get(name, setting.default) for name, setting in self.settings.items()}


PLAIN = (
    *("waits", "event_loop", "library", "pip", "apt", "build_cost", "copies", "user", "after", "first"),
    *("build_variables", "environment", "interpreter", "objects", "types"),
)
"""Keys that occur only in a language's table."""
OVERRIDES = ("patterns", "placements", "loan", "parts", "forward", "send", "keep", "max_payload_bytes")
"""Keys in a language's table that may override the transport's values."""
