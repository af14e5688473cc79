"""Bare programs, built once and run: those of benches/bare in C and C++, and those in folders of their own in Rust."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "build/benches/bare"
TRANSPORTS = HERE.parent / "transports"
PATIENCE_S = 60
COMPILERS = {".c": ["cc"], ".cpp": ["c++", "-std=c++20", "-w"]}


@dataclass(frozen=True)
class Program:
    """A file of benches/bare. Its messages may be those of a transport, generated anew from the same description."""

    source: str
    libraries: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """As pkg-config calls libraries that bring others along."""
    idl: str = ""
    """A file below transports/."""
    generator: tuple[str, ...] = ()
    """The command that generates sources from `{idl}` of the folder `{of}` into the folder `{made}`."""

    @property
    def path(self) -> Path:
        """The program, built where it is older than what it is made of."""
        source = HERE / "bare" / self.source
        made = BUILT / source.stem
        made.mkdir(parents=True, exist_ok=True)
        needed = [source, HERE / "bare/bare.h", *([TRANSPORTS / self.idl] if self.idl else [])]
        binary = made / "program"
        if not binary.exists() or binary.stat().st_mtime < max(each.stat().st_mtime for each in needed):
            self._build(source, made, binary)
        return binary

    def _build(self, source: Path, made: Path, binary: Path) -> None:
        idl = TRANSPORTS / self.idl
        if self.generator:
            words = [word.format(idl=idl, of=idl.parent, made=made) for word in self.generator]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        generated = sorted(each for each in made.iterdir() if each.suffix in (".cc", ".cpp", ".cxx"))
        compiler = [*COMPILERS[source.suffix], "-O3", f"-I{made}", f"-I{HERE / 'bare'}", "-o", str(binary)]
        libraries = [f"-l{library}" for library in self.libraries]
        if self.modules:
            asked = ["pkg-config", "--libs", *self.modules]
            libraries += subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        subprocess.run([*compiler, str(source), *map(str, generated), *libraries], check=True)


@dataclass(frozen=True)
class Crate:
    """A bare program in Rust, benches/NAME; zenoh takes minutes to build the first time."""

    name: str

    @property
    def path(self) -> Path:
        """The program, built."""
        return Path(cargo_built(self.name))


@cache
def cargo_built(name: str) -> str:
    """Builds benches/NAME; answers where Cargo has put it."""
    manifest = HERE / name / "Cargo.toml"
    command = ["cargo", "build", "--release", "--message-format=json", "--manifest-path", str(manifest)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    made = (json.loads(line).get("executable") for line in said.splitlines())
    return str(next(path for path in made if path))


def number(program: Program | Crate, *words: object) -> float:
    """The number that a bare program prints."""
    command = [str(program.path), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if done.returncode != 0:
        raise ToolFailedError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return float(done.stdout)


class ToolFailedError(Exception):
    """What is compared with did not work; the text says what it said."""
