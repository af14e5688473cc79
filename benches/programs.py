"""Build and run bare programs: C and C++ in benches/bare, and Rust in separate folders."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ending import Run

from hopmeter import manifest
from hopmeter.manifest import interpreter
from hopmeter.system import paths

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "build/benches/bare"
TRANSPORTS = HERE.parent / "transports"
INCLUDES = Path("/usr/include")
APART, TOGETHER = "0,1", "1"
"""The cores of the calling and the answering process: two separate cores, or one shared core."""
PATIENCE_S = 60
COMPILERS = {".c": ["cc"], ".cpp": ["c++", "-std=c++20", "-w"]}


@dataclass(frozen=True)
class Program:
    """A bare program in C or C++ in benches/bare.

    For a program that uses a transport's messages, the bench generates code from the transport's message definition.
    """

    source: str
    libraries: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """pkg-config modules to compile and link with."""
    flags: tuple[str, ...] = ()
    """Additional compiler flags."""
    headers: str = ""
    """A glob pattern for the header folder of a library without a pkg-config module."""
    root: str = ""
    """The environment variable with the installation folder of a library that only the user can install."""
    idl: str = ""
    """The message definition, as a path relative to transports/."""
    generator: tuple[str, ...] = ()
    """The command that generates sources from `{idl}` in the folder `{of}` into the folder `{made}`."""

    @property
    def command(self) -> list[str]:
        """The command that runs the program, which is built first if necessary."""
        return [str(self.path)]

    @property
    def is_possible(self) -> bool:
        """Whether the program's library is installed; True unless only the user can install it."""
        return not self.root or bool(os.environ.get(self.root))

    @property
    def path(self) -> Path:
        """The path of the program, which is rebuilt if it is older than its sources."""
        source = HERE / "bare" / self.source
        made = BUILT / source.stem
        made.mkdir(parents=True, exist_ok=True)
        more = [TRANSPORTS / each for each in (self.idl,) if each]
        needed = [source, *(HERE / "bare").glob("*.h*"), *more]
        binary = made / "program"
        with (made / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # parallel tests may build the program concurrently
            if not binary.exists() or binary.stat().st_mtime < max(each.stat().st_mtime for each in needed):
                self._build(source, made, binary)
        return binary

    def _build(self, source: Path, made: Path, binary: Path) -> None:
        idl = TRANSPORTS / self.idl
        if self.generator:
            words = [word.format(idl=idl, of=idl.parent, made=made) for word in self.generator]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        generated = sorted(each for each in made.iterdir() if each.suffix in (".cc", ".cpp", ".cxx"))
        half = binary.with_suffix(".half")
        owned = [Path(os.environ[self.root])] if self.root else []
        headers = owned[0] / "include" if owned else INCLUDES
        found = headers.glob(self.headers) if self.headers else ()
        folders = [made, HERE / "bare", TRANSPORTS, *(each / "include" for each in owned), *found]
        compiler = [*COMPILERS[source.suffix], "-O3", *self.flags, *(f"-I{each}" for each in folders), "-o", str(half)]
        libraries = [flag for each in owned for flag in (f"-L{each}/lib", f"-Wl,-rpath,{each}/lib")]
        libraries += [f"-l{library}" for library in self.libraries]
        if self.modules:
            asked = ["pkg-config", "--cflags", "--libs", *self.modules]
            libraries += subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        subprocess.run([*compiler, str(source), *map(str, generated), *libraries], check=True)
        half.rename(binary)  # so that an interrupted compiler leaves no incomplete program


@dataclass(frozen=True)
class Crate:
    """A bare program in Rust, in benches/rust/NAME. The first build of zenoh takes minutes."""

    name: str

    @property
    def command(self) -> list[str]:
        """The command that runs the program, which is built first."""
        return [build_crate(self.name)]


@dataclass(frozen=True)
class Script:
    """A bare program in Python, benches/bare/SOURCE, which runs with the Python of a transport's nodes."""

    source: str
    transport: str

    @property
    def command(self) -> list[str]:
        """The command that runs the program. Raises ToolFailedError if the transport's Python is missing."""
        python = interpreter.interpreter(manifest.every()[self.transport].offers["python"])
        if python is None:
            raise ToolFailedError(f"there is no Python for it yet: hopmeter build {self.transport}")
        return [str(python.program), str(HERE / "bare" / self.source)]


@dataclass(frozen=True)
class Project:
    """A bare program with a CMake project, in benches/NAME, for libraries that only CMake can find in the
    environment."""

    name: str

    @property
    def command(self) -> list[str]:
        """The command that runs the program, which is built first."""
        made = BUILT.parent / self.name
        packages = ";".join(map(str, paths.node_build_dir().glob("*-interfaces")))
        where = ["-S", str(HERE / self.name), "-B", str(made)]
        _build("cmake", *where, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={packages}")
        _build("cmake", "--build", str(made))
        return [str(made / "program")]


def _build(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolFailedError(f"{' '.join(words)} failed: {(done.stderr or done.stdout).strip()[-800:]}")


@cache
def build_crate(name: str) -> str:
    """Build benches/rust/NAME and return the path of the program."""
    manifest = HERE / "rust" / name / "Cargo.toml"
    command = ["cargo", "build", "--release", "--message-format=json", "--manifest-path", str(manifest)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    made = (json.loads(line).get("executable") for line in said.splitlines())
    return str(next(path for path in made if path))


def number(program: Program | Crate, *words: object) -> float:
    """Return the number that a bare program prints. Raises ToolFailedError if the program fails."""
    with Run() as run:
        return number_of(run, program, *words)


def number_of(
    run: Run, program: Program | Crate | Script, *words: object, env: Mapping[str, str] | None = None
) -> float:
    """Return the number that a program prints. The program is started in the given run, with `env` added to the
    program's environment."""
    return _printed_number(run, [*program.command, *map(str, words)], env)


def python_number(source: str, *words: object) -> float:
    """Return the number that a Python program in benches/bare prints. Raises ToolFailedError if the program fails."""
    with Run() as run:
        return _printed_number(run, [sys.executable, str(HERE / "bare" / source), *map(str, words)])


def _printed_number(run: Run, command: list[str], env: Mapping[str, str] | None = None) -> float:
    done = run.capture(command, PATIENCE_S, env=env)
    try:
        done.check_returncode()
        return float(done.stdout)
    except (subprocess.CalledProcessError, ValueError) as cause:
        text = done.stderr.strip() or done.stdout.strip()
        raise ToolFailedError(f"{command[0]} ended with {done.returncode}: {text}") from cause


class ToolFailedError(Exception):
    """A bare program or tool failed; the text contains its output."""
