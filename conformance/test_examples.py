"""Test every transport example by following its instructions: 100 messages arrive, 100 calls are answered, and no file
remains."""

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
import time
from collections.abc import Iterable, Iterator
from itertools import groupby, product
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import READY
from conformance.leak_watch import LeakWatch
from conformance.shared_broker import turn
from hopmeter.build.languages.rust import cache_environment
from hopmeter.manifest.examples import SIDES, Example, find_example, write_examples
from hopmeter.manifest.interpreter import interpreter
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.readiness import environment
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess
from hopmeter.system.processes import die_with_launcher
from hopmeter.system.scratch_dir import remove_leftovers

COUNT = 100
QUEUES = {"SEND_BUFFER": COUNT, "DEPTH": COUNT}
"""Queue sizes that hold all messages, because a delayed program may send or receive many at once. Transports that lose
nothing with their default settings do not need these sizes, and the system may refuse them."""
PATIENCE_S = 60
EXAMPLES = [
    each
    for manifest, language in READY
    if (each := find_example(manifest, language) or find_example(manifest, language, "rpc"))
]
TRANSPORTS = [list(each) for _, each in groupby(EXAMPLES, key=lambda each: each.manifest.name)]
"""The examples, grouped by transport."""
OUTCOMES = {
    "pubsub": (f"received {COUNT} messages", f"sent {COUNT} messages"),
    "rpc": (f"answered {COUNT} calls", f"received {COUNT} replies"),
}
"""The last output line of the waiting program and of the active program."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a temporary folder with a short path, because examples create sockets in it."""
    path = Path(tempfile.mkdtemp(prefix="hme"))
    yield path
    shutil.rmtree(path)


PROJECTS = [each for each in EXAMPLES if each.language == "rust"]


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("example", PROJECTS, ids=lambda each: each.manifest.name)
def test_a_rust_example_is_a_project_of_its_own(example: Example, folder: Path) -> None:
    write_examples([example], {}, folder / "program")
    run_command(["bash", "-ec", "\n".join(example.build)], folder / "program")


@pytest.mark.timeout(1800)  # Cargo may have to compile crates that the adapter does not use
@pytest.mark.parametrize("examples", TRANSPORTS, ids=lambda each: each[0].manifest.name)
def test_examples_exchange_messages_and_calls_in_every_pair_of_languages(examples: list[Example], folder: Path) -> None:
    topic, manifest = f"example{secrets.token_hex(4)}", examples[0].manifest
    place = folder / topic
    with broker(manifest, folder) as (address, more):
        values = {"PAYLOAD_BYTES": 1000, "RATE_HZ": 400.0, "COUNT": COUNT, "TOPIC": topic, **queues_of(manifest)}
        write_examples(examples, {**values, **addresses_of(examples[0], address, topic)}, place)
        for each in examples:
            build(each, place)
        with configuration(manifest, place):
            watch, before = LeakWatch(topic, place), files_in(place)
            outcomes = {
                (pattern, waiting.language, active.language): run(pattern, (waiting, active), place, more, watch)
                for pattern in examples[0].patterns
                for waiting, active in product(examples, repeat=2)
            }
            assert outcomes == {key: OUTCOMES[key[0]] for key in outcomes}
            logs = f"{folder}/broker/"
            left = [*(files_in(place) - before), *(each for each in watch.leaks() if not each.startswith(logs))]
            assert left == [], "nothing but what they wrote into the folder of their broker"


def queues_of(manifest: Manifest) -> dict[str, int]:
    loses_nothing = manifest.lossless is not None and not manifest.lossless.settings
    return {} if loses_nothing else QUEUES


def files_in(place: Path) -> set[Path]:
    """Return the files and sockets in a folder, except Python's caches."""
    return {path for path in place.rglob("*") if not path.is_dir() and path.parent.name != "__pycache__"}


@contextlib.contextmanager
def broker(manifest: Manifest, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Start the transport's broker, if it needs one, and yield the broker's address and the clients' environment."""
    if manifest.broker is None:
        yield "", {}
        return
    run = secrets.token_hex(8)
    context = BrokerContext(
        run, folder / "broker", manifest.resolve_settings({}), folder / "broker.log", anonymous=True
    )
    with turn(manifest), BrokerProcess(manifest.broker, context) as broker:
        yield broker.address, broker.environment


@contextlib.contextmanager
def configuration(manifest: Manifest, place: Path) -> Iterator[None]:
    """If the transport has a `config` folder, write configuration files that isolate the example's programs from other
    programs."""
    run = secrets.token_hex(8)
    for file in (manifest.folder / "config").glob("*"):
        (place / "config").mkdir(exist_ok=True)
        text = file.read_text().replace("{run}", run).replace("{directory}", str(place))
        (place / "config" / file.name).write_text(text)
    try:
        yield
    finally:
        remove_leftovers(manifest.leftovers, run)


def addresses_of(example: Example, broker_address: str, topic: str) -> dict[str, Any]:
    """Return the address values of an example: the broker's address, or the example's own with a free port or topic
    name."""
    first, *others = broker_address.split() or [""]
    if others and others[0].isdigit():
        return {"ADDRESS": first, "SENDER_PORT": others[0]}
    if first:
        return {"ADDRESS": first}
    found = re.search(r'\bADDRESS\b[^=\n]* = "([^"]*)"', example.text)
    if found is None:
        return {}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = re.sub(r":\d+", f":{port}", found[1]).replace("messages", topic)
    return {"ADDRESS": own}


def build(example: Example, place: Path) -> None:
    """Build an example as it says, but without optimization, which takes half of a C++ compiler's time."""
    program, *_ = interpreter_words(example)
    commands = [re.sub("^python3 ", f"{program} ", each) for each in example.build if not each.startswith("cargo ")]
    commands = [each.replace(" -O2 ", " -O0 ") for each in commands]
    if commands:
        run_command(["bash", "-ec", "\n".join(commands)], place)
    if example.language == "rust":
        compile_with_crates_of_the_adapter(example, place)


def run_command(command: list[str], place: Path, **more: str) -> str:
    with start(command, place, more) as process:
        said, problems = process.communicate()
        assert process.returncode == 0, said + problems
    return said


def compile_with_crates_of_the_adapter(example: Example, place: Path) -> None:
    """Compile the program with the adapter's crates, because a separate project would compile the crates again."""
    cargo = ["cargo", "build", "--release", "--message-format", "json"]
    said = run_command(cargo, example.path.parents[1], **cache_environment())
    messages = [json.loads(line) for line in said.splitlines()]
    built = [each for each in messages if each["reason"] == "compiler-artifact"]
    if example.build_crates:
        script = [each for each in built if each["profile"]["opt_level"] == "0"]
        run_rustc(script, example.build_crates, place, "build.rs", "build-script")
        run_command(["./build-script"], place, OUT_DIR=str(place))
    (place / example.run).parent.mkdir(parents=True)
    linked = [path for each in messages for path in each.get("linked_paths", ())]
    libraries = [each for each in built if each["profile"]["opt_level"] != "0"]
    run_rustc(libraries, example.crates, place, example.program, example.run, linked)


def run_rustc(
    built: list[Any], crates: Iterable[str], place: Path, program: str, output: str, linked: Iterable[str] = ()
) -> None:
    """Compile a program with prebuilt crates and without optimization, which takes a tenth of the time."""
    libraries = {
        each["target"]["name"].replace("-", "_"): file
        for each in built
        for file in each["filenames"]
        if file.endswith(".rlib")
    }
    names = [name.replace("-", "_") for name in crates]
    options = [word for name in names for word in ("--extern", f"{name}={libraries[name]}")]
    folders = {f"dependency={Path(file).parent}" for file in libraries.values()} | set(linked)
    options += [word for folder in sorted(folders) for word in ("-L", folder)]
    run_command(["rustc", "--edition", "2021", program, "-o", output, *options], place, OUT_DIR=str(place))


def interpreter_words(example: Example) -> list[str]:
    """Return the command that runs an example; Python examples use the adapter's Python."""
    command = shlex.split(example.run)
    if example.language == "python":
        found = interpreter(example.manifest.offers["python"])
        assert found is not None, "the adapter is ready, so its Python is there"
        command = [str(found.program), *command[1:]]
    return command


def run(
    pattern: str, sides: tuple[Example, Example], place: Path, more: dict[str, str], watch: LeakWatch
) -> tuple[str, str]:
    """Start the waiting program, then the active program. Return the last output line of each program."""
    if sides[0].manifest.run_together:
        return run_together(pattern, sides, place, more, watch)
    first, second = ([*interpreter_words(each), word] for each, word in zip(sides, SIDES[pattern], strict=True))
    with start_side(first, place, more) as waiting:
        assert waiting.stdout is not None
        said = list(until_ready(waiting.stdout))
        assert said[-1:] == ["ready\n"], "".join(said)
        with start_side(second, place, more) as active:
            sent = last_line(watch_until_end(active, waiting, watch))
        received = last_line(waiting.communicate(timeout=PATIENCE_S)[0])
        assert waiting.returncode == 0, received
    return received, sent


def run_together(
    pattern: str, sides: tuple[Example, Example], place: Path, more: dict[str, str], watch: LeakWatch
) -> tuple[str, str]:
    """Start both programs with one command. For each program, return its expected line if the command printed the line,
    and otherwise the whole output."""
    words = zip(sides, SIDES[pattern], strict=True)
    first, second = (shlex.join([*interpreter_words(each), word]) for each, word in words)
    command = shlex.split(sides[0].manifest.run_together.format(first=first, second=second))
    with start_side(command, place, more) as both:
        said = watch_until_end(both, both, watch)
    # `mpirun` may print the lines of two programs as one line.
    received, sent = (line if line in said else said for line in OUTCOMES[pattern])
    return received, sent


def watch_until_end(active: subprocess.Popen[str], waiting: subprocess.Popen[str], watch: LeakWatch) -> str:
    """Return the output of the active program until it exits, and record the open files of both programs."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for each in (active, waiting):
            watch.record(each.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            said = active.communicate(timeout=0.05)[0]
            assert active.returncode == 0, said
            return said
    raise AssertionError(f"the program does not end: {active.args}")


def until_ready(lines: Iterable[str]) -> Iterator[str]:
    """Yield the output lines up to `ready`; other lines may come from libraries."""
    for line in lines:
        yield line
        if line == "ready\n":
            return


def last_line(said: str) -> str:
    return said.strip().splitlines()[-1] if said.strip() else ""


def start_side(
    command: list[str], place: Path, more: dict[str, str]
) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    """Start one program of an example, with stderr merged into stdout."""
    return start(command, place, {**environment(), **more}, stderr=subprocess.STDOUT)


@contextlib.contextmanager
def start(
    command: list[str], place: Path, more: dict[str, str], stderr: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """Start a process, and kill its whole process group at the end of the `with` block."""
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
