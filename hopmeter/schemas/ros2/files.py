"""Finds the files that define a ROS 2 message and its nested messages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.schemas.ros2 import idl
from hopmeter.schemas.ros2.definition import Definition, is_service, parts_of
from hopmeter.schemas.ros2.parser import PACKAGE, TYPE_NAME, parse_all, read_definition
from hopmeter.schemas.ros2.standard import standard_folder
from hopmeter.system import paths
from hopmeter.system.input_files import read_short_text

SUFFIX, SERVICE = ".msg", ".srv"
NAME = re.compile(rf"(?P<package>{PACKAGE})/(?P<kind>msg|srv)/(?P<type>{TYPE_NAME})")
PACKAGE_NAME = re.compile(rf"<name>\s*({PACKAGE})\s*</name>")
WORKSPACE = "src"
"""The directory of a workspace that contains packages, and repositories with packages."""
MOST_MANIFEST_BYTES = 1 << 20
MOST_DEPTH = 64
INSTALL_SERVICES = "run `hopmeter build ros2`, whose ROS 2 has std_srvs, nav_msgs and sensor_msgs"


def is_idl(file: Path) -> bool:
    """Return whether a path has the suffix of an IDL definition."""
    return file.suffix == idl.SUFFIX


def read_as_definition(file: Path) -> Path:
    """Return the file of a definition in `.msg` or `.srv` format. An `.idl` file is first converted to a `.msg` or
    `.srv` file with identical fields.

    Raises UsageError if the conversion fails.
    """
    return idl.convert(file) if is_idl(file) else file


def folders_above(file: Path) -> tuple[Path, ...]:
    """Return the directories above an `.idl` file, in which hopmeter searches for nested messages.

    Return an empty tuple for a `.msg` or `.srv` file, because the file's own path determines where nested messages are.
    """
    return tuple(file.parents)[1:] if is_idl(file) else ()


def is_definition(file: Path) -> bool:
    """Return whether a path has the suffix of a ROS 2 message or service definition."""
    return file.suffix in (SUFFIX, SERVICE)


def message_name(file: Path) -> str:
    """Return the name of the message that a file defines, such as `PACKAGE/msg/TYPE`.

    Raises UsageError if the path of the file does not determine a name.
    """
    kind = file.suffix.removeprefix(".")
    name = f"{_package_of(file.parent.parent)}/{file.parent.name}/{file.stem}"
    if file.parent.name != kind or not NAME.fullmatch(name):
        what = f"{file} is not in the folder {kind} of a ROS 2 package"
        raise UsageError("E-SCHEMA", what, f"name a file such as my_msgs/{kind}/WheelSpeeds{file.suffix}")
    return name


def _package_of(folder: Path) -> str:
    """Return the package name in a directory's package.xml, or the directory's name if there is no package.xml."""
    try:
        found = PACKAGE_NAME.search(read_short_text(folder / "package.xml", MOST_MANIFEST_BYTES))
    except (OSError, ValueError):
        found = None
    return found[1] if found else folder.name


def find_named(name: str, include: Sequence[Path]) -> Path:
    """Return the file of a message `PACKAGE/msg/TYPE` or service `PACKAGE/srv/TYPE`.

    The search includes the directories `include`, the installed ROS 2, and the messages that ROS 2 ships. Raises
    UsageError if no file defines the message or service.
    """
    found = next(_places(name, include), None)
    if found is None:
        package, kind, word = name.split("/")
        alike = _alike(package, word) if kind == "msg" else []
        known = f"; did you mean {' or '.join(alike)}?" if alike else ""
        what = f"ROS 2 ships no {'message' if kind == 'msg' else 'service'} {name}{known}"
        remedy = f"name the folder that has the package {package} with --include DIR, or write {name}.{kind}"
        other = "" if kind == "msg" else f", or {INSTALL_SERVICES}"
        raise UsageError("E-SCHEMA-TYPE", what, f"correct the name, or {remedy} with its path{other}")
    return found


def _alike(package: str, kind: str) -> list[str]:
    """Return the names of messages shipped with ROS 2 that are similar to `kind`."""
    import difflib

    folder = standard_folder()
    named = {file.stem: file for file in sorted(folder.glob("*/msg/*.msg"))}
    inside = [file.stem for file in (folder / package / "msg").glob("*.msg")]
    close = difflib.get_close_matches(kind, inside, 3) or difflib.get_close_matches(kind, named, 3, 0.8)
    return [f"{package if each in inside else named[each].parent.parent.name}/msg/{each}" for each in close]


def find_definitions(file: Path, include: Sequence[Path]) -> dict[str, Path]:
    """Return the files of a message and of all nested messages. The keys are names such as `PACKAGE/msg/TYPE.msg`; the
    key of the message itself comes first.

    Raises UsageError if a definition is missing, or if ROS 2 does not accept a definition.
    """
    found: dict[str, Path] = {f"{message_name(file)}{file.suffix}": file}
    waiting = list(found)
    while waiting:
        name = waiting.pop(0)
        for needed, line in _dependencies(name, found[name]):
            if f"{needed}{SUFFIX}" not in found:
                found[f"{needed}{SUFFIX}"] = _find_needed(needed, found[name], line, include)
                waiting.append(f"{needed}{SUFFIX}")
    definitions = read_definitions(found)
    for part in parts_of(_stem(next(iter(found)))):
        order(definitions, part)
    return found


def type_in(files: Mapping[str, Path]) -> str:
    """Return the full name of the message that the first of the files defines.

    If the first file defines a service, return the name of the service's request.
    """
    return parts_of(_stem(next(iter(files))))[0]


def _stem(name: str) -> str:
    """Return the full name of the type that the file `PACKAGE/msg/TYPE.msg` or `PACKAGE/srv/TYPE.srv` defines."""
    return name.rpartition(".")[0]


def _dependencies(name: str, file: Path) -> list[tuple[str, int]]:
    return [(field.type.name, field.line) for each in _read(name, file) for field in each.messages()]


def _read(name: str, file: Path) -> list[Definition]:
    return parse_all(read_definition(file), _stem(name), str(file))


def read_definitions(files: Mapping[str, Path]) -> dict[str, Definition]:
    """Return the definitions that files contain, keyed by message name. The keys of `files` are names such as
    `PACKAGE/msg/TYPE.msg`."""
    return {each.name: each for name, file in files.items() for each in _read(name, file)}


def _find_needed(name: str, asking: Path, line: int, include: Sequence[Path]) -> Path:
    above = asking.parent.parent
    same = above / "/".join(name.split("/")[1:])
    if name.startswith(f"{_package_of(above)}/") and same.with_suffix(SUFFIX).is_file():
        return same.with_suffix(SUFFIX)
    near = [*include, *above.parents]
    found = next(_places(name, near), None)
    if found is None:
        package = name.partition("/")[0]
        what = f"{asking}:{line}: there is no message {name} in {above.parent} or above it, nor in ROS 2"
        remedy = f"name the folder that has the package {package} with --include DIR, or :include=DIR in the payload"
        raise UsageError("E-SCHEMA", what, remedy)
    return found


def _places(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the candidate files for the definition of a message, the preferred file first."""
    package, _, rest = name.partition("/")
    file = f"{rest}{SERVICE if is_service(name) else SUFFIX}"
    for folder in folders:
        yield from _in_folder(folder, package, file)
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(":")):
        yield from _in_folder(Path(prefix) / "share", package, file)
    yield from _in_folder(standard_folder(), package, file)
    if is_service(name):  # rosbags contains no service definitions
        yield from sorted(paths.environment_folder().glob(f"*/share/{package}/{file}"))


def _in_folder(folder: Path, package: str, rest: str) -> Iterator[Path]:
    """Yield the files below a directory that define a type of a ROS 2 package.

    The directory may be the package's own directory, a parent directory of packages, a workspace, or an installation.
    """
    if (folder / rest).is_file() and _package_of(folder) == package:
        yield folder / rest
    depths = ("", "*/", "*/*/") if folder.name == WORKSPACE else ("", f"{WORKSPACE}/", f"{WORKSPACE}/*/", "share/")
    for depth in depths:
        yield from sorted(each for each in folder.glob(f"{depth}{package}/{rest}") if each.is_file())
    if not rest.endswith(idl.SUFFIX):
        found = _in_folder(folder, package, str(Path(rest).with_suffix(idl.SUFFIX)))
        yield from (idl.convert(each) for each in found)


def order(definitions: dict[str, Definition], name: str) -> list[Definition]:
    """Return the definitions of a message and of all nested messages; each definition follows the definitions that it
    uses.

    Raises UsageError if a message contains itself.
    """
    done: dict[str, Definition] = {}
    _visit(definitions, name, (), done)
    return list(done.values())


def _visit(definitions: dict[str, Definition], name: str, above: tuple[str, ...], done: dict[str, Definition]) -> None:
    if name in above:
        what = f"the message {name} consists of itself: {' > '.join((*above, name))}"
        raise UsageError("E-SCHEMA", what, "remove one of these fields")
    if len(above) > MOST_DEPTH:
        raise UsageError("E-SCHEMA", f"messages nest deeper than {MOST_DEPTH} levels in {above[0]}", "nest them less")
    if name not in done:
        for field in definitions[name].messages():
            _visit(definitions, field.type.name, (*above, name), done)
        done[name] = definitions[name]
