"""Every example of a transport, written and built as a user does: 100 messages arrive."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import READY
from conformance.node_pool import turn
from hopmeter.manifest.examples import Example, find_example, write_examples
from hopmeter.manifest.interpreter import interpreter
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.readiness import environment
from hopmeter.runtime.daemon import BrokerContext, Daemon
from hopmeter.system.processes import die_with_launcher
from hopmeter.system.scratch_dir import remove_leftovers

COUNT = 100
PATIENCE_S = 60
EXAMPLES = [each for manifest, language in READY if (each := find_example(manifest, language))]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, because examples put sockets there."""
    path = Path(tempfile.mkdtemp(prefix="hme"))
    yield path
    shutil.rmtree(path)


PROJECTS = [each for each in EXAMPLES if each.language == "rust"]


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("example", PROJECTS, ids=lambda each: each.manifest.name)
def test_a_rust_example_is_a_project_of_its_own(example: Example, folder: Path) -> None:
    write_examples([example], {}, folder / "program")
    run_command(["cargo", "build", "--release"], folder / "program")


@pytest.mark.timeout(1200)  # Cargo compiles what the adapter has not compiled yet
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.manifest.name}-{each.language}")
def test_an_example_sends_and_receives(example: Example, folder: Path) -> None:
    with broker(example.manifest, folder) as (address, more):
        values = {"PAYLOAD_BYTES": 1000, "RATE_HZ": 400.0, "COUNT": COUNT, "TOPIC": f"example{secrets.token_hex(4)}"}
        place = folder / "program"
        write_examples([example], {**values, **address_of(example, address, folder)}, place)
        build(example, place)
        with configuration(example.manifest, place):
            received, sent = run(example, place, more)
    assert (received, sent) == (f"received {COUNT} messages", f"sent {COUNT} messages")


@contextlib.contextmanager
def broker(manifest: Manifest, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Starts the broker of a transport that needs one; yields its address and the environment of its users."""
    if manifest.daemon is None:
        yield "", {}
        return
    run = secrets.token_hex(8)
    context = BrokerContext(run, folder / "daemon", manifest.resolve_settings({}), folder / "daemon.log")
    with turn(manifest), Daemon(manifest.daemon, context) as daemon:
        yield daemon.address.split(" ")[0], daemon.environment


@contextlib.contextmanager
def configuration(manifest: Manifest, place: Path) -> Iterator[None]:
    """Gives the programs their own files, if their library shares files with the whole machine and the transport has a
    folder `config`."""
    run = secrets.token_hex(8)
    for file in (manifest.folder / "config").glob("*"):
        (place / "config").mkdir(exist_ok=True)
        text = file.read_text().replace("{run}", run).replace("{directory}", str(place))
        (place / "config" / file.name).write_text(text)
    try:
        yield
    finally:
        remove_leftovers(manifest.leftovers, run)


def address_of(example: Example, broker_address: str, folder: Path) -> dict[str, Any]:
    """The address of the broker, or that of the example with a free port or a path in this folder."""
    found = re.search(r'\bADDRESS\b[^=\n]* = "([^"]*)"', example.text)
    if found is None:
        return {}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = re.sub(r":\d+", f":{port}", found[1]).replace("/tmp/", f"{folder}/")
    return {"ADDRESS": broker_address or own}


def build(example: Example, place: Path) -> None:
    if example.language == "rust":
        compile_with_crates_of_the_adapter(example, place)
    elif example.build:
        run_command(["bash", "-ec", "\n".join(example.build)], place)


def run_command(command: list[str], place: Path) -> str:
    with start(command, place, {}) as process:
        said, problems = process.communicate()
        assert process.returncode == 0, said + problems
    return said


def compile_with_crates_of_the_adapter(example: Example, place: Path) -> None:
    """Compiles the program with the crates that the adapter was built with: a project of its own would compile them
    again, with other features."""
    crate = example.path.parents[1]
    cargo = ["cargo", "build", "--release", "--example", example.path.stem, "--message-format", "json"]
    messages = [json.loads(line) for line in run_command(cargo, crate).splitlines()]
    built = [each for each in messages if each["reason"] == "compiler-artifact"]
    libraries = {
        each["target"]["name"].replace("-", "_"): file
        for each in built
        for file in each["filenames"]
        if file.endswith(".rlib")
    }
    names = [name.replace("-", "_") for name in example.crates]
    options = [word for name in names for word in ("--extern", f"{name}={libraries[name]}")]
    folders = {f"dependency={Path(libraries[names[0]]).parent}"}
    folders |= {path for each in messages for path in each.get("linked_paths", ())}
    options += [word for folder in sorted(folders) for word in ("-L", folder)]
    (place / example.run).parent.mkdir(parents=True)
    run_command(["rustc", "--edition", "2021", "-O", example.program, "-o", example.run, *options], place)


def run(example: Example, place: Path, more: dict[str, str]) -> tuple[str, str]:
    """Starts the receiver, then the sender; returns the last line of each."""
    command = shlex.split(example.run)
    if example.language == "python":
        found = interpreter(example.manifest.offers["python"])
        assert found is not None, "the adapter is ready, so its Python is there"
        command = [str(found.program), *command[1:]]
    with start_side(command, "receive", place, more) as receiver:
        assert receiver.stdout is not None
        said = list(until_ready(receiver.stdout))
        assert said[-1:] == ["ready\n"], "".join(said)
        with start_side(command, "send", place, more) as sender:
            sent = sender.communicate(timeout=PATIENCE_S)[0]
            assert sender.returncode == 0, sent
        received = receiver.communicate(timeout=PATIENCE_S)[0]
        assert receiver.returncode == 0, received
    return last_line(received), last_line(sent)


def until_ready(lines: Iterable[str]) -> Iterator[str]:
    """The lines up to `ready`: libraries also print something."""
    for line in lines:
        yield line
        if line == "ready\n":
            return


def last_line(said: str) -> str:
    return said.strip().splitlines()[-1] if said.strip() else ""


def start_side(
    command: list[str], side: str, place: Path, more: dict[str, str]
) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    """A side of the example; libraries may print between its lines."""
    return start([*command, side], place, {**environment(), **more}, stderr=subprocess.STDOUT)


@contextlib.contextmanager
def start(
    command: list[str], place: Path, more: dict[str, str], stderr: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """A process of which nothing is left, whatever happens."""
    process = subprocess.Popen(
        command,
        cwd=place,
        env={**os.environ, **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
        preexec_fn=die_with_launcher,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
