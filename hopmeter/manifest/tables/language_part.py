"""Describes a transport in one language, both as written in the manifest and with all defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables.allowed_words import EventLoop, Language, Pattern, Placement, Wait
from hopmeter.manifest.tables.build_cost import BuildCost
from hopmeter.manifest.tables.installation import Installation
from hopmeter.manifest.tables.strict import Strict
from hopmeter.manifest.tables.user_install import Owned
from hopmeter.system.toml_files import one_of

LONG_BUILD_S = 60.0
"""Among suitable compiled languages, hopmeter prefers languages whose adapter builds in at most this many seconds."""
LONGEST_BUILD_S = 120.0
"""If an adapter takes more than this many seconds to build, hopmeter prefers any other suitable language."""
ONLY_FOR = {
    **dict.fromkeys(("environment", "interpreter", "objects"), "python"),
    "build_variables": "rust",
}
"""Keys that only one language may have."""


class MessageTypes(Strict):
    """The table `[languages.X.types]`, which describes how a transport sends messages in its own message types rather
    than as bytes."""

    codec: str
    """The codec that encodes the transport's messages. The schemas of this codec define the transport's types."""
    packages: str
    """A subdirectory of the transport with a CMake project that generates a package of message types."""
    library: str = ""
    """For C++: a subdirectory of the transport with a CMake project that builds a type's library."""


class LanguagePart(Strict):
    """What a manifest says about a transport in one language: the library, its installation, and differences from other
    languages."""

    waits: Annotated[list[Wait], Field(min_length=1)]
    event_loop: EventLoop | None = None
    """For Python: the kind of event loop that calls back with the wait `callback`; None if the library's threads do."""
    library: str
    pip: list[str] = []
    apt: list[str] = []
    build_cost: BuildCost | None = None
    copies: bool = False
    """Whether the adapter provides its library's own copy function (`work = "copy:frame:own"`)."""
    user: Owned | None = None
    """How the user installs the library, if no registry has it."""
    after: Language | None = None
    """Another language of the transport. The build in that language also produces a part of this adapter."""
    environment: Literal["own"] | None = None
    """For Python: `own` if the packages need a separate environment, because they conflict with hopmeter's packages."""
    interpreter: Literal["system"] | None = None
    """For Python: `system` if the packages are system packages, so that the nodes run on the system Python."""
    installations: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")], Installation] = {}
    """Installations of the library that hopmeter can create instead, by name.

    A Rust node loads the libraries of the Python installation with the same name.
    """
    first: str = ""
    """A subdirectory of the transport with a CMake project to install before the adapter is built."""
    build_variables: dict[str, str | dict[str, str]] = {}
    """For Rust: environment variables for the build.

    `{first}` is the install directory of the `first` project, and `$NAME` is one of the user's variables. If the value
    is a table, only the listed values of the user's variable are replaced.
    """
    objects: list[str] = []
    """For Python: the codecs that the transport replaces, because it encodes their objects itself.

    Most transports carry only bytes, so that their list is empty.
    """
    types: MessageTypes | None = None
    """How the transport carries messages as its own types, or None if it carries them as bytes."""
    patterns: list[Pattern] | None = None
    placements: list[Placement] | None = None
    loan: bool | None = None
    parts: bool | None = None
    forward: Literal["copy", "move"] | None = None
    send: Literal["nonblocking", "blocking"] | None = None
    keep: bool | None = None
    max_payload_bytes: Annotated[int, Field(gt=0)] | None = None


class Offer(BaseModel):
    """What a transport supports in one language, with all defaults filled in."""

    model_config = ConfigDict(frozen=True)

    transport: str
    language: Language
    waits: list[Wait]
    event_loop: EventLoop | None = None
    placements: list[Placement]
    patterns: list[str]
    loan: bool
    parts: bool
    forward: str
    send: str
    keep: bool
    max_payload_bytes: int
    """The largest payload in bytes that the adapter sends and receives."""
    library: str
    pip: list[str]
    apt: list[str]
    build_cost: BuildCost | None
    copies: bool = False
    user: Owned | None = None
    after: str | None = None
    environment: str | None = None
    environment_name: str = ""
    """The name of the node's separate environment, or an empty string if the node has none."""
    variables: dict[str, str] = {}
    """Environment variables for the nodes."""
    interpreter: str | None = None
    first: str = ""
    build_variables: dict[str, str | dict[str, str]] = {}
    objects: list[str] = []
    types: MessageTypes | None = None

    @property
    def asked_waits(self) -> list[str]:
        """Return the kinds of `wait` that a user may request, including the name of the adapter's event loop."""
        return [*self.waits, *([self.event_loop] if self.event_loop else [])]

    def wait_for(self, asked: str) -> str:
        """Return the kind of wait that the user's word stands for; the name of the adapter's event loop stands for
        `callback`."""
        return "callback" if asked == self.event_loop else asked

    @property
    def node(self) -> str:
        """Return the name of the node: the name of the transport or, if the node has an installation of its own, of
        that installation."""
        return self.environment_name if self.environment == "own" else self.transport

    @property
    def is_installed(self) -> bool:
        """Return False if the user must install the library and has not done so, otherwise True."""
        return self.user is None or self.user.is_here


def check_installations(language: str, part: LanguagePart, in_python: Mapping[str, Installation]) -> None:
    """Raise RefusedValueError if the installations of a language are invalid.

    A Python installation needs packages. A Rust installation must not contain packages, and requires a Python
    installation with the same name. If the manifest names an installation that replaces the user's library, it must
    also define that installation.
    """
    for name, each in part.installations.items():
        if language == "python" and not each.pip:
            raise RefusedValueError("E-MISSING-KEY", f"installations.{name} needs packages: `pip`")
        if language != "python" and (language != "rust" or each.pip or name not in in_python):
            said = (
                f"{language}: installations.{name}: an installation in Rust has the packages of Python's with its name"
            )
            raise RefusedValueError("E-VALUES-CONFLICT", f"{said}, and only Python and Rust have installations")
    if part.user and part.user.otherwise and part.user.otherwise not in part.installations:
        said = f"user.otherwise: {one_of(part.user.otherwise, part.installations)}"
        raise RefusedValueError("E-VALUE-CHOICE", said)
