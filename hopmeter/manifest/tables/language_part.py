"""A transport in one language: as the manifest has it, and with every default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables.allowed_words import Language, Pattern, Placement, Wait
from hopmeter.manifest.tables.build_cost import BuildCost
from hopmeter.manifest.tables.installation import Installation
from hopmeter.manifest.tables.strict import Strict
from hopmeter.manifest.tables.user_install import Owned
from hopmeter.system.toml_files import one_of

LONG_BUILD_S = 60.0
"""If several compiled languages would do, a build of at most this time is preferred."""
LONGEST_BUILD_S = 120.0
"""If any language would do, a longer build is left to the user."""
ONLY_FOR = {
    **dict.fromkeys(("environment", "interpreter", "objects"), "python"),
    "build_variables": "rust",
}
"""Keys for one language only."""


class MessageTypes(Strict):
    """`[languages.X.types]`: how a transport carries messages as types of its own."""

    codec: str
    """The codec whose encoded messages the transport understands, and whose schemas define its types."""
    packages: str
    """A folder of the transport with a CMake project that generates a package of message types."""
    library: str = ""
    """For C++: a folder of the transport with a CMake project that builds the library of a type."""


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
    environment: Literal["own"] | None = None
    """For Python: `own` if its packages conflict with others, so that they get a separate environment."""
    interpreter: Literal["system"] | None = None
    """For Python: `system` if its packages belong to the system, so that its nodes run on the system's Python."""
    installations: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")], Installation] = {}
    """Installations of the library that hopmeter makes instead, by name. Those in Rust are of the environments of the
    same name in Python, whose libraries its nodes load."""
    first: str = ""
    """A folder of the transport with a CMake project that is installed before the adapter is built."""
    build_variables: dict[str, str | dict[str, str]] = {}
    """For Rust: environment variables of the build; `{first}` is where the `first` project is installed, and `$NAME` a
    variable of the user. A table replaces only the values of the user that it names."""
    objects: list[str] = []
    """For Python: the codecs whose objects the transport encodes itself; most transports carry bytes and have none."""
    types: MessageTypes | None = None
    """None if messages of a user's own type are bytes for the transport."""
    patterns: list[Pattern] | None = None
    placements: list[Placement] | None = None
    loan: bool | None = None
    parts: bool | None = None
    forward: Literal["copy", "move"] | None = None
    send: Literal["nonblocking", "blocking"] | None = None
    keep: bool | None = None
    max_payload_bytes: Annotated[int, Field(gt=0)] | None = None


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
    environment: str | None = None
    environment_name: str = ""
    """The name of its environment, if it has one of its own."""
    variables: dict[str, str] = {}
    """Environment variables of its nodes."""
    interpreter: str | None = None
    first: str = ""
    build_variables: dict[str, str | dict[str, str]] = {}
    objects: list[str] = []
    types: MessageTypes | None = None

    @property
    def node(self) -> str:
        """Return the name of its node: that of the transport, or of the installation for which it is built."""
        return self.environment_name if self.environment == "own" else self.transport

    @property
    def is_installed(self) -> bool:
        """Return False only if something is missing that the user must install."""
        return self.user is None or self.user.is_here


def check_installations(language: str, part: LanguagePart, in_python: Mapping[str, Installation]) -> None:
    """Raise RefusedValueError unless the installations in Python have packages, those in Rust are of the same names and
    have none, and the one that replaces the user's exists."""
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
