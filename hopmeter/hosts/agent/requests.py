"""The requests that a coordinator may send to an agent, and the handlers that answer them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from hopmeter import manifest
from hopmeter._instrument import ClockResponder
from hopmeter.clocks.batches import measure_batch
from hopmeter.clocks.clock_state import read_clock_state
from hopmeter.errors import HopmeterError
from hopmeter.hosts.agent.trial import AgentTrial
from hopmeter.hosts.agent.upkeep_requests import Upkeep
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.content_store import PIECE_BYTES, ContentStore, decode, encode
from hopmeter.manifest import Manifest, Readiness, readiness
from hopmeter.manifest.readiness import readiness_with_codecs
from hopmeter.plan.placement.background_load import Load
from hopmeter.plan.placement.cores import Machine
from hopmeter.runtime.processes.background_load import BackgroundLoad
from hopmeter.runtime.processes.broker import BrokerProcess
from hopmeter.runtime.processes.node import LocalNode
from hopmeter.runtime.processes.this_host import ThisHost
from hopmeter.schemas.library import built_libraries

MOST_TRIALS = 4
KEY_FILE = re.compile(r"[a-z]{1,20}\.[a-z]{1,20}")
LONGEST_KEY = 10_000
"""The maximum number of characters of a key file's content, encoded as base64."""
TOKEN = re.compile(r"[0-9a-f]{32}")
Ask = Mapping[str, Any]


class Watcher(Protocol):
    """Reports events of a trial's nodes and brokers to the coordinator."""

    def watch_node(self, trial: AgentTrial, number: int, node: LocalNode) -> None:
        """Report a node's messages, and report when the node exits."""

    def watch_broker(self, trial: AgentTrial, number: int, broker: BrokerProcess) -> None:
        """Report when a broker exits."""

    def stop_watching(self, trial: AgentTrial) -> None:
        """Stop watching the nodes and brokers of a trial."""


class Command(Protocol):
    """A command that serves a coordinator's connection in place of `hopmeter agent`, such as `hopmeter publish`."""

    def meet(self, ask: Ask) -> dict[str, Any]:
        """Accept the options of the peer's command, which `ask` contains, and return the options of this command.
        Raises HopmeterError if the two commands are incompatible."""

    def note(self, ask: Ask) -> dict[str, Any]:
        """Handle a message from the peer's command, and return the answer."""

    def store_samples(self, trial: AgentTrial) -> None:
        """Store the samples that this command needs, because the trial's files are removed afterwards. The trial's
        nodes may still be running when this method is called."""


class Requests:
    """The trials, background load, clock responder and build that a coordinator runs on this host."""

    def __init__(self, folder: Path, here: ThisHost, watcher: Watcher, command: Command | None = None) -> None:
        """`command` is the hopmeter command that runs this agent, such as `hopmeter publish`, or None for `hopmeter
        agent`."""
        self._here, self._watcher, self._logs, self._of = here, watcher, folder, command
        self._files = ContentStore(folder / "files")
        self._manifests: dict[str, Manifest] = {}
        self._programs: dict[tuple[str, str, tuple[str, ...]], Readiness] = {}
        self.trials: dict[str, AgentTrial] = {}
        self.background: BackgroundLoad | None = None
        self._clock: ClockResponder | None = None
        self._upkeep = Upkeep(folder / "build", self._files.path)

    def answer(self, ask: Ask) -> dict[str, Any]:
        """Handle a request from the coordinator, and return the answer.

        Raises ValueError, KeyError or TypeError if the request is malformed.
        """
        return ASKS[value_checks.word(ask, "do", ASKS)](self, ask)

    def find_trial(self, message: Ask) -> AgentTrial | None:
        """Return the trial that a message names, or None if the trial has ended."""
        return self.trials.get(value_checks.matching(message, "trial", value_checks.RUN))

    def close(self) -> None:
        """Stop all trials, loads and builds that were started for the coordinator."""
        for run in list(self.trials):
            self._remove_trial({"trial": run})
        self._end_background({})
        if self._clock is not None:
            self._clock.stop()
        self._upkeep.close()
        self._here.forget()

    def _ping(self, _: Ask) -> dict[str, Any]:
        return {"now_ns": time.monotonic_ns()}

    def _describe(self, _: Ask) -> dict[str, Any]:
        ready = manifest.readiness_of_all(self._all_manifests().values()).values()
        rows = [{**each.as_json(), "turns": each.has_turns} for each in ready]
        return {"transports": rows, "cores": list(Machine.here().allowed), "codecs": built_libraries()}

    def _examine(self, _: Ask) -> dict[str, Any]:
        from hopmeter.machine import description

        return {"machine": description.describe()}

    def _meet(self, ask: Ask) -> dict[str, Any]:
        return self._command.meet(ask)

    def _note(self, ask: Ask) -> dict[str, Any]:
        return self._command.note(ask)

    @property
    def _command(self) -> Command:
        if self._of is None:
            what = "`hopmeter agent` is listening there, not publish, listen, serve or ask"
            raise HopmeterError("E-PEER-OTHER", what, "name the address of the other command: --meet HOST:PORT")
        return self._of

    def _all_manifests(self) -> dict[str, Manifest]:
        self._manifests = self._manifests or manifest.every()
        return self._manifests

    def _start_clock(self, ask: Ask) -> dict[str, Any]:
        if self._clock is not None:
            self._clock.stop()
        self._clock = ClockResponder(value_checks.address(ask, "address"), _token(ask))
        return {"port": self._clock.port}

    def _compare_clock(self, ask: Ask) -> dict[str, Any]:
        session, asker, responder = (value_checks.text(ask, key, 100) for key in ("session", "asker", "responder"))
        where = (value_checks.address(ask, "address"), value_checks.number(ask, "port", 65_535))
        return {"burst": measure_batch(session, asker, responder, where, _token(ask)).model_dump()}

    def _read_clock(self, ask: Ask) -> dict[str, Any]:
        session, host = (value_checks.text(ask, key, 100) for key in ("session", "host"))
        return {"clock": read_clock_state(session, host, bool(ask.get("with_sources"))).model_dump()}

    def _open_stream(self, ask: Ask) -> dict[str, Any]:
        return self._upkeep.open_stream(ask, _token(ask))

    def _read_stream(self, _: Ask) -> dict[str, Any]:
        return self._upkeep.read_stream()

    def _start_build(self, ask: Ask) -> dict[str, Any]:
        return self._upkeep.start_build(ask)

    def _read_build(self, ask: Ask) -> dict[str, Any]:
        return self._upkeep.read_build(ask)

    def _has_file(self, ask: Ask) -> dict[str, Any]:
        return {"has": self._files.has(value_checks.matching(ask, "hash", value_checks.HASH))}

    def _add_file(self, ask: Ask) -> dict[str, Any]:
        piece = decode(value_checks.text(ask, "data", 2 * PIECE_BYTES))
        self._files.add(value_checks.matching(ask, "hash", value_checks.HASH), piece, bool(ask.get("last")))
        return {}

    def _start_trial(self, ask: Ask) -> dict[str, Any]:
        run, known = value_checks.matching(ask, "trial", value_checks.RUN), self._all_manifests()
        if run in self.trials or len(self.trials) >= MOST_TRIALS:
            raise ValueError(f"the trial already exists, or there are already {MOST_TRIALS} trials")
        names = value_checks.items(ask, "transports", 100)
        manifests = [known[value_checks.word({"transport": name}, "transport", known)] for name in names]
        part = self._here.trial(run, manifests, _credentials(ask))
        self._here.note_alive()
        self.trials[run] = AgentTrial(part, run, manifests, self._program, self._files.path)
        return {}

    def _program(self, one: Manifest, language: str, codecs: tuple[str, ...]) -> Readiness:
        key = (one.key, language, codecs)
        if key not in self._programs:
            has_codecs = bool(codecs) and language == "python"
            found = readiness_with_codecs(one, codecs) if has_codecs else readiness(one, language)
            self._programs[key] = found
        return self._programs[key]

    def _trial(self, ask: Ask) -> AgentTrial:
        return self.trials[value_checks.matching(ask, "trial", value_checks.RUN)]

    def _start_broker(self, ask: Ask) -> dict[str, Any]:
        trial = self._trial(ask)
        try:
            answer = trial.start_broker(ask)
        finally:
            self._here.note_alive()
        number, broker = value_checks.number(ask, "number"), trial.part.brokers[-1]
        self._watcher.watch_broker(trial, number, broker)
        return answer

    def _start_node(self, ask: Ask) -> dict[str, Any]:
        trial, number = self._trial(ask), value_checks.number(ask, "node")
        node = trial.start_node(ask)
        self._here.note_alive()
        self._watcher.watch_node(trial, number, node)
        return {"pid": node.pid}

    def _watch_stops(self, ask: Ask) -> dict[str, Any]:
        self._trial(ask).part.watch()
        return {}

    def _note_usage(self, ask: Ask) -> dict[str, Any]:
        self._trial(ask).part.note_usage()
        return {}

    def _usage(self, ask: Ask) -> dict[str, Any]:
        return self._trial(ask).usage(value_checks.number(ask, "since_ns"))

    def _tail(self, ask: Ask) -> dict[str, Any]:
        return {"tail": self._trial(ask).nodes[value_checks.number(ask, "node")].tail()}

    def _close_trial(self, ask: Ask) -> dict[str, Any]:
        trial = self._trial(ask)
        self._watcher.stop_watching(trial)
        logs = trial.close()
        self._here.note_alive()
        return {"logs": logs}

    def _samples(self, ask: Ask) -> dict[str, Any]:
        return {"files": self._trial(ask).write_samples()}

    def _piece(self, ask: Ask) -> dict[str, Any]:
        files, size = self._trial(ask).sample_files, value_checks.number(ask, "bytes", PIECE_BYTES)
        path = files[value_checks.word(ask, "file", files)]
        if not path.exists():
            return {"data": ""}  # not every trial has a causes file
        with path.open("rb") as file:
            file.seek(value_checks.number(ask, "offset"))
            return {"data": encode(file.read(size))}

    def _remove_trial(self, ask: Ask) -> dict[str, Any]:
        trial = self._trial(ask)
        self._watcher.stop_watching(trial)
        if self._of is not None:
            self._of.store_samples(trial)
        trial.part.close()
        trial.part.remove_files()
        del self.trials[trial.run]
        if not self.trials:
            self._here.forget()
        return {}

    def _start_background(self, ask: Ask) -> dict[str, Any]:
        cores = tuple(value_checks.numbers(ask, "cores", 1 << 20))
        if self.background is not None or not set(cores) <= set(Machine.here().allowed):
            raise ValueError(f"a load is already running, or a core of {cores} is not allowed here")
        load = Load(cores, value_checks.decimal(ask, "cpu_percent"), value_checks.decimal(ask, "memory_gb_s"))
        self.background = self._here.start_background(load, self._logs / "background.log")
        self._here.note_alive()
        return {}

    def _read_background(self, _: Ask) -> dict[str, Any]:
        assert self.background is not None, "the coordinator has started it"
        return vars(self.background.reading())

    def _end_background(self, _: Ask) -> dict[str, Any]:
        if self.background is not None:
            self.background.close()
            self.background = None
        return {}


def _credentials(ask: Ask) -> list[dict[str, bytes]]:
    """Return the content of the key files that the coordinator sent for each transport, by file name."""
    found = value_checks.items({"credentials": [], **ask}, "credentials", 100)
    texts = [value_checks.texts({"files": files}, "files", LONGEST_KEY) for files in found]
    if any(not KEY_FILE.fullmatch(name) for files in texts for name in files):
        raise ValueError(f"the name of a key file does not have the form {KEY_FILE.pattern}")
    return [{name: decode(content) for name, content in files.items()} for files in texts]


def _token(ask: Ask) -> bytes:
    return bytes.fromhex(value_checks.matching(ask, "token", TOKEN))


ASKS: dict[str, Callable[[Requests, Ask], dict[str, Any]]] = {
    "ping": Requests._ping,
    "describe": Requests._describe,
    "examine": Requests._examine,
    "meet": Requests._meet,
    "note": Requests._note,
    "start-clock": Requests._start_clock,
    "compare-clock": Requests._compare_clock,
    "read-clock": Requests._read_clock,
    "open-stream": Requests._open_stream,
    "read-stream": Requests._read_stream,
    "start-build": Requests._start_build,
    "read-build": Requests._read_build,
    "has-file": Requests._has_file,
    "add-file": Requests._add_file,
    "start-trial": Requests._start_trial,
    "start-broker": Requests._start_broker,
    "start-node": Requests._start_node,
    "watch-stops": Requests._watch_stops,
    "note-usage": Requests._note_usage,
    "usage": Requests._usage,
    "tail": Requests._tail,
    "close-trial": Requests._close_trial,
    "samples": Requests._samples,
    "piece": Requests._piece,
    "remove-trial": Requests._remove_trial,
    "start-background": Requests._start_background,
    "read-background": Requests._read_background,
    "end-background": Requests._end_background,
}
"""The handler method of each request, by request name."""
