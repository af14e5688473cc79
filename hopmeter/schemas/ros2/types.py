"""Represents ROS 2 message types by their definition texts, and compares these types with a ROS 2 installation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.schemas.payload import candidates, parse_message
from hopmeter.schemas.ros2.definition import STRING, WIDE, Definition, FieldType, is_service, parts_of
from hopmeter.schemas.ros2.files import is_definition, order, read_as_definition
from hopmeter.schemas.ros2.parser import NAME, parse, parse_all
from hopmeter.schemas.schema import find_schema
from hopmeter.system.input_files import read_text

CODEC = "cdr"
SEPARATOR = re.compile(r"^=+[ \t]*\n(?:MSG|IDL):[ \t]*(\S+)[ \t]*$\n?", re.MULTILINE)
"""Matches the separator before each nested definition in a recording."""
HEADER = FieldType("std_msgs/msg/Header")
SOURCED = "source the ROS 2 that has your packages"


@dataclass(frozen=True)
class RosType:
    """A message type or service type, with the definitions of all nested types."""

    name: str
    """The full name, such as `nav_msgs/msg/Odometry` or `nav_msgs/srv/GetMap`."""
    texts: Mapping[str, str]
    """The text of each definition, by full name."""

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """Return the definitions of the type and of all nested types in dependency order. Raises UsageError if a
        definition is missing or invalid."""
        named = ((name, text, f"the definition of {name}") for name, text in self.texts.items())
        parsed = {each.name: each for words in named for each in parse_all(words[1], words[0], words[2])}
        needed = {field.type.name for each in parsed.values() for field in each.messages()}
        if missing := sorted(needed - set(parsed)):
            raise UsageError(
                "E-SCHEMA", f"the definition of {missing[0]} is missing", "name a file with the definition"
            )
        return {each.name: each for part in parts_of(self.name) for each in order(parsed, part)}

    @property
    def is_service(self) -> bool:
        """Return whether the type is a service type, which has a request and a response."""
        return is_service(self.name)

    @property
    def parts(self) -> list[Definition]:
        """Return the definition of the message, or the definitions of the service's request and response."""
        return [self.definitions[name] for name in parts_of(self.name)]

    @property
    def messages(self) -> dict[str, Definition]:
        """Return the definitions of the messages for which a ROS 2 installation must provide code.

        A service's own request and response are excluded, because hopmeter generates a service with identical fields.
        """
        parts = parts_of(self.name) if self.is_service else []
        return {name: each for name, each in self.definitions.items() if name not in parts}

    @property
    def packages(self) -> list[str]:
        """Return the packages of the messages in build order: each package follows the packages that it uses."""
        return list(dict.fromkeys(map(package_of, self.messages)))

    @property
    def has_header(self) -> bool:
        """Return whether the first field of the message is a header."""
        return has_header(self.definitions[self.name])

    @property
    def is_bounded(self) -> bool:
        """Return whether an encoded message has a maximum size."""
        return all(_has_limit(field.type) for each in self.definitions.values() for field in each.fields)


def has_header(definition: Definition) -> bool:
    """Return whether the first field of a message is a header."""
    first = definition.fields[0]
    return first.name == "header" and first.type == HEADER


def _has_limit(kind: FieldType) -> bool:
    is_text = kind.name in (STRING, WIDE)
    return not (is_text and not kind.text_bound) and not (kind.is_list and not kind.length and not kind.bound)


def package_of(name: str) -> str:
    """Return the package that a full name starts with, such as `nav_msgs` for `nav_msgs/msg/Odometry`."""
    return name.partition("/")[0]


def payload_type(payload: str) -> RosType:
    """Return the ROS 2 type that a payload names. Raises UsageError if the payload names no ROS 2 type."""
    schema = find_schema(payload, CODEC)
    texts = {name.rpartition(".")[0]: read_text(file) for name, file in schema.imports.files.items()}
    return RosType(next(iter(texts)), texts)


def has_type(payload: str) -> bool:
    """Return whether a payload names a ROS 2 message or service."""
    file = candidates(parse_message(payload)).get(CODEC)
    return file is not None and file.is_file() and is_definition(file)


def split_definitions(name: str, text: str) -> RosType:
    """Return the type that a recording describes with a definition text. The definition text contains the type's own
    definition, followed by the definitions of all nested types.

    Raises UsageError if a definition is missing or invalid.
    """
    own, *others = SEPARATOR.split(text)
    bodies = zip([name, *others[::2]], [own, *others[1::2]], strict=True)
    found = RosType(full_name(name), {full_name(each): body for each, body in bodies})
    found.definitions  # noqa: B018 (reading the property raises the error)
    return found


def full_name(text: str) -> str:
    """Return the full name of a type, such as `nav_msgs/msg/Odometry` for `nav_msgs/Odometry`.

    Raises UsageError if the name is invalid.
    """
    found = NAME.fullmatch(text)
    if found is None or not found["package"]:
        raise UsageError("E-SCHEMA-TYPE", f"{text} is no type of ROS 2", "name a type such as nav_msgs/msg/Odometry")
    return f"{found['package']}/msg/{found['type']}"


def read_installed(name: str, prefixes: Sequence[Path]) -> RosType:
    """Return the type as a ROS 2 installation defines it. Raises UsageError if the installation lacks the type."""
    found: dict[str, str] = {}
    waiting = [full_name(name)]
    while waiting:
        each = waiting.pop()
        file = installed_file(each, prefixes)
        if file is None:
            where = prefixes[0] if prefixes else "no place"
            raise UsageError("E-SCHEMA", f"the ROS 2 at {where} has no {each}, nor has the recording", SOURCED)
        found[each] = read_text(file)
        needed = (field.type.name for field in parse(found[each], each, str(file)).messages())
        waiting += [other for other in needed if other not in found]
    return RosType(full_name(name), found)


def installed_file(name: str, prefixes: Iterable[Path]) -> Path | None:
    """Return a type's definition file from the first installation prefix that contains such a file, or None."""
    package, kind, word = name.split("/")
    for folder in (prefix / "share" / package / kind for prefix in prefixes):
        for file in (folder / f"{word}.msg", folder / f"{word}.idl"):
            if file.is_file():
                return read_as_definition(file)
    return None


def missing_packages(wanted: RosType, prefixes: Sequence[Path]) -> list[str]:
    """Return the packages that a ROS 2 installation lacks, in build order.

    Raises UsageError if the installation contains one of these packages, but defines one of its types differently.
    """
    missing = [each for each in wanted.packages if not any((one / "share" / each / "msg").is_dir() for one in prefixes)]
    for name, definition in wanted.messages.items():
        if package_of(name) not in missing:
            _check_installed(definition, installed_file(name, prefixes))
    return missing


def _check_installed(wanted: Definition, file: Path | None) -> None:
    package = package_of(wanted.name)
    if file is None:
        what = f"the ROS 2 that is used has the package {package} without {wanted.name}"
        raise UsageError("E-SCHEMA", what, f"{SOURCED}, or rename {package}")
    found = parse(read_text(file), wanted.name, str(file))
    if [(each.name, each.type) for each in found.fields] != [(each.name, each.type) for each in wanted.fields]:
        what = f"the ROS 2 that is used defines {wanted.name} differently, in {file}"
        raise UsageError("E-SCHEMA", what, f"{SOURCED}, or rename {package}")
