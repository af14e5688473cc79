"""Finds and adapts the example of each transport and language: a small program that uses the library without hopmeter.

The programs are `python/example.py`, `cpp/example.cpp` and `rust/examples/NAME.rs` in the transport's directory. An
example may use two additional files: `idl/example.*` and `rust/examples/build.rs`. Each program begins with constants,
such as `PAYLOAD_BYTES = 1000`. hopmeter replaces the values of these constants.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.allowed_words import Value

NAME = r"(?m)^(?P<before>(?:(?:static |inline )*(?:const|constexpr) [^=\n]*?)?\b{name}\b(?:: [^=\n]+)? = )"
"""Matches an assignment to a constant, up to the assigned value: `NAME = `, `const NAME: usize = ` or `constexpr int
NAME = `."""
VALUE = r"(?P<value>\"[^\"\n]*\"|[^\s;]+)"
BUILD = re.compile(r"(?m)^(?://!?|#) Build: (.+)$")
"""Matches the comment lines of an example that contain build commands."""
SIDES = {"pubsub": ("receive", "send"), "rpc": ("serve", "call")}
"""The arguments that start the two sides of a program, by pattern. The user must start the side that is listed first
before the other side."""
CARGO = """[package]
name = "example"
version = "0.1.0"
edition = "2021"

[dependencies]
"""
README = "README.md"


@dataclass(frozen=True)
class Example:
    """A transport's example in one language."""

    manifest: Manifest
    language: str
    path: Path
    pattern: str = "pubsub"
    """Whether the user sends messages (`pubsub`) or makes calls (`rpc`, `scatter`)."""

    @property
    def text(self) -> str:
        """Return the program's source code."""
        return self.path.read_text(encoding="utf-8")

    @property
    def files(self) -> dict[str, str]:
        """Return the content of each file that the example program needs, keyed by file name."""
        files = {self.program: self.text}
        if self.build_script:
            files["build.rs"] = self.build_script
        said = "".join(files.values())
        used = [path for path in (self.manifest.folder / "idl").glob("example.*") if path.name in said]
        files |= {path.name: path.read_text(encoding="utf-8") for path in used}
        return {**files, "Cargo.toml": self._cargo_toml()} if self.language == "rust" else files

    @property
    def build_script(self) -> str:
        """Return the build script of a Rust program that generates code. Return an empty string for other programs."""
        path = self.path.parent / "build.rs"
        return path.read_text(encoding="utf-8") if self.language == "rust" and path.is_file() else ""

    def _cargo_toml(self) -> str:
        text = CARGO + _toml_lines(self.crates)
        return f"{text}\n[build-dependencies]\n{_toml_lines(self.build_crates)}" if self.build_script else text

    @property
    def program(self) -> str:
        """Return the program's file name."""
        return "src/main.rs" if self.language == "rust" else self.path.name

    @property
    def build(self) -> list[str]:
        """Return the commands that build the example program, or an empty list if the program needs no build step."""
        return [*BUILD.findall(self.text), *(["cargo build --release"] if self.language == "rust" else [])]

    @property
    def patterns(self) -> list[str]:
        """Return the patterns that the program implements: `pubsub`, `rpc`, or both."""
        return [pattern for pattern, sides in SIDES.items() if f'"{sides[1]}"' in self.text]

    @property
    def sides(self) -> tuple[str, str]:
        """Return the arguments that start each of the program's two sides; the user must start the first side first."""
        return SIDES[_pattern_of_library(self.manifest, self.pattern)]

    @property
    def note(self) -> str:
        """If the program sends messages although the user makes calls, return the reason.

        Return an empty string if the program implements the user's pattern.
        """
        if self.pattern == "pubsub" or self.manifest.rpc == "native":
            return ""
        return f"{self.manifest.title} has no calls: hopmeter sends a message each way for a call, the program one way"

    @property
    def run(self) -> str:
        """Return the command that runs the program, without the argument that says which side to run."""
        return {"rust": "target/release/example", "c++": "./example", "python": "python3 example.py"}[self.language]

    @property
    def run_commands(self) -> list[str]:
        """Return the commands that run the two sides: one for each side, or a single command that starts both."""
        first, second = (f"{self.run} {side}" for side in self.sides)
        together = self.manifest.run_together
        return [together.format(first=first, second=second)] if together else [first, second]

    @property
    def install(self) -> list[str]:
        """Return the commands that install the library and its broker. Rust crates need no command, because Cargo
        installs them itself."""
        offer = self.manifest.offers[self.language]
        apt = " ".join(offer.apt)
        pip = " ".join(f"'{each}'" for each in offer.pip)
        return [*([f"apt install {apt}"] if apt else []), *([f"pip install {pip}"] if pip else [])]

    @property
    def crates(self) -> dict[str, Any]:
        """Return the crates that a Rust program uses, each in the version that the adapter uses."""
        return self._used_crates("dependencies", self.text)

    @property
    def build_crates(self) -> dict[str, Any]:
        """Return the crates that a Rust program's build script uses."""
        return self._used_crates("build-dependencies", self.build_script)

    def _used_crates(self, table: str, text: str) -> dict[str, Any]:
        """Return those crates of the adapter that occur in the source text `text`.

        If only generated code uses a crate, the text of the program must mention the crate too.
        """
        known = tomllib.loads((self.path.parents[1] / "Cargo.toml").read_text(encoding="utf-8")).get(table, {})
        return {name: value for name, value in known.items() if re.search(rf"\b{name.replace('-', '_')}\b", text)}


def _toml_lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_toml(value)}\n" for name, value in table.items())


def _toml(value: object) -> str:
    """Return the value of a dependency in Cargo.toml as one line of TOML."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_toml(each)}' for name, each in value.items())} }}"
    return json.dumps(value)


def _pattern_of_library(manifest: Manifest, pattern: str) -> str:
    """Return the pattern, `rpc` or `pubsub`, of the library's example for the pattern that the user wants. If the
    library has no remote calls of its own, the example for calls uses `pubsub`."""
    return "rpc" if pattern != "pubsub" and manifest.rpc == "native" else "pubsub"


def find_example(manifest: Manifest, language: str, pattern: str = "pubsub") -> Example | None:
    """Return a transport's example in one language, or None if no example fits the pattern."""
    places = {"rust": f"rust/examples/{manifest.name}.rs", "c++": "cpp/example.cpp", "python": "python/example.py"}
    path = manifest.folder / places[language]
    if language not in manifest.offers or not path.is_file():
        return None
    found = Example(manifest, language, path, pattern)
    return found if _pattern_of_library(manifest, pattern) in found.patterns else None


def constants_of(example: Example) -> set[str]:
    """Return the names of the constants at the beginning of the example."""
    return {found["name"] for found in re.finditer(NAME.format(name="(?P<name>[A-Z][A-Z0-9_]+)"), example.text)}


def fill_values(text: str, values: Mapping[str, Value]) -> str:
    """Replace the values of constants in an example's text. Names that the example does not define are ignored."""
    for name, value in values.items():
        text = re.sub(NAME.format(name=re.escape(name)) + VALUE, partial(_line, value), text)
    return text


def _line(value: Value, found: re.Match[str]) -> str:
    return found["before"] + _literal(value, found["value"])


def _literal(value: Value, before: str) -> str:
    """Return a value as a literal in the notation of the literal `before`, which it replaces."""
    if isinstance(value, bool):
        return str(value) if before in ("True", "False") else str(value).lower()
    if isinstance(value, str):
        return json.dumps(value)
    return repr(float(value)) if "." in before else str(round(value))


def write_examples(examples: Sequence[Example], values: Mapping[str, Value], folder: Path) -> list[Path]:
    """Write a transport's example programs and a README with the commands that run them, and return the paths of the
    written files.

    `values` contains new values for constants in the programs, keyed by the name of the constant.
    """
    files = {name: text for example in examples for name, text in _filled_files(example, values).items()}
    files[README] = readme(examples, values)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def _filled_files(example: Example, values: Mapping[str, Value]) -> dict[str, str]:
    return {**example.files, example.program: fill_values(example.files[example.program], values)}


def readme(examples: Sequence[Example], values: Mapping[str, Value]) -> str:
    """Return a README that explains how to install, build and run a transport's programs."""
    known, (first, second) = examples[0].manifest, examples[0].sides
    what = "Messages" if first == "receive" else "Calls"
    start = f"Start `{first}` first, then `{second}` in a second terminal."
    if known.run_together:
        start = f"One command starts `{first}` and `{second}`."
    parts = [f"# {what} with {known.title}\n\n{start}"]
    if note := examples[0].note:
        parts.append(f"{note}.")
    if known.broker is not None and not known.run_together:
        parts.append(f"Both need the broker: start `{known.broker.title}` before them.")
    for example in examples:
        steps = [*example.install, *example.build, *example.run_commands]
        parts.append(f"## {example.program}\n\n```sh\n" + "\n".join(steps) + "\n```")
        if lacking := lacking_settings(example, values):
            parts.append(f"This program leaves these settings at the defaults of the library: {', '.join(lacking)}.")
    return "\n\n".join(parts) + "\n"


def lacking_settings(example: Example, values: Mapping[str, Value]) -> list[str]:
    """Return those settings that the user has changed but for which the example has no constant."""
    changed = {
        name: values[name.upper()]
        for name, setting in example.manifest.settings.items()
        if values.get(name.upper(), setting.default) != setting.default
    }
    return [f"{name}={value}" for name, value in changed.items() if name.upper() not in constants_of(example)]


def check_folder(folder: Path) -> None:
    """Raise UsageError if a directory exists and is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("E-EXISTS", f"{folder} exists and is not empty", "name a new folder")
