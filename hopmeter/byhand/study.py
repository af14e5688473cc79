"""`hopmeter publish` and `hopmeter listen`: one plugin over one middleware after the other, both ends in step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hopmeter.byhand import brokers, clocks, plugins
from hopmeter.byhand.child import Child, command
from hopmeter.byhand.pairs import Pair, Spoken, agreed
from hopmeter.byhand.results import Outcome, Results
from hopmeter.byhand.where import Here, Where, joined
from hopmeter.byhand.wire import GoneError, Said, Wire
from hopmeter.client.adapters import away, manifest_of
from hopmeter.client.rendezvous import Rendezvous
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.manifest.discovery import every
from hopmeter.manifest.model import Manifest
from hopmeter.runtime.failures import InterruptedRunError
from hopmeter.runtime.signals import Alarm
from hopmeter.system.scratch_dir import ScratchDir, sweep
from hopmeter.system.toml_files import one_of

VERSION = 2
PATIENCE_S = 120.0
"""For a broker to start, and for whatever else the other end does between two pairs."""
SAME = ("width", "height", "trials", "skip", "rate")
OTHER_NAMES = {"ros": "ros1"}


@dataclass(frozen=True)
class Asked:
    """What was asked on the command line."""

    plugins: list[str]
    mwares: list[str]
    width: int
    height: int
    trials: int
    skip: int
    rate: float
    name: str
    where: Where
    within_s: float
    daemons: dict[str, str] = field(default_factory=dict)


def settled(mware: str) -> str:
    """A transport's name, for the study's name of it."""
    return OTHER_NAMES.get(mware.lower(), mware.lower())


class Study:
    """One command: what can be measured here, and the steps that both ends take together."""

    def __init__(self, asked: Asked, results: Results) -> None:
        self._asked, self._results = asked, results
        self._known = every()
        self._labels = {settled(word): word for word in asked.mwares} | {
            f"/{plugins.settled(word)}": word for word in asked.plugins
        }
        self.mwares = list(dict.fromkeys(map(settled, asked.mwares)))
        self.plugins = list(dict.fromkeys(map(plugins.settled, asked.plugins)))
        self.absent = self._absent()
        """By middleware, or plugin with a slash before it: why it cannot be used here."""
        self._numbers = itertools.count()
        self.one_clock = False
        """Whether both ends' times are of the same clock."""

    def _absent(self) -> dict[str, str]:
        found = {name: self._without(name) for name in self.mwares}
        found |= {f"/{name}": plugins.absent(name) for name in self.plugins}
        return {name: why for name, why in found.items() if why}

    def _without(self, mware: str) -> str:
        if mware not in self._known:
            return f"middleware {one_of(mware, self._known)}"
        try:
            manifest, offer = manifest_of(mware)
            if self._asked.where.meet:
                away(manifest)
            command(offer)
        except HopmeterError as absent:
            return str(absent)
        if manifest.daemon is None or manifest.daemon.program or mware in self._asked.daemons:
            return ""
        return f"{manifest.daemon.title} is not installed (hopmeter build {mware}, or --daemon {mware}=ADDRESS)"

    def publish(self) -> None:
        """Waits for the listener, and leads it through everything that both ends have."""
        asked = self._asked
        sweep()
        with (
            Alarm() as alarm,
            ScratchDir() as ground,
            asked.where.bound() as here,
            asked.where.door("pair", asked.name) as opened,
        ):
            self._results.says(f'waiting for `hopmeter listen` under the name "{asked.name}"{self._at}')
            with closing(opened.admit(asked.within_s, alarm)) as peer, joined(peer, here):
                steps = Steps(self, peer, alarm, ground, here)
                for mware, todo in self._agree(peer, alarm, listener=False):
                    self._lead(steps, mware, todo)
                peer.say(say="over")

    def listen(self) -> None:
        """Waits for the publisher, and follows it."""
        asked = self._asked
        sweep()
        with Alarm() as alarm, ScratchDir() as ground:
            self._results.says(f'waiting for `hopmeter publish` under the name "{asked.name}"{self._at}')
            with (
                closing(asked.where.entered("pair", asked.name, asked.within_s, alarm)) as peer,
                asked.where.reached(peer) as here,
                joined(peer, here),
            ):
                for _ in self._agree(peer, alarm, listener=True):
                    pass
                self._follow(Steps(self, peer, alarm, ground, here))

    @property
    def _at(self) -> str:
        return f" at {self._asked.where.meet}" if self._asked.where.meet else ""

    def _agree(self, peer: Wire, alarm: Alarm, listener: bool) -> Iterator[tuple[Manifest, list[str]]]:
        """What both ends have, middleware by middleware; the rest is told as missing. A listener is given it all at
        once, so as to tell the same."""
        mine = {name: getattr(self._asked, name) for name in SAME}
        told = {"mwares": self.mwares, "plugins": self.plugins, "absent": self.absent, "clock": clocks.identity()}
        theirs = agreed(peer, {"version": VERSION, **mine, **told}, PATIENCE_S, alarm)
        self.one_clock = bool(told["clock"]) and theirs.get("clock") == told["clock"]
        unlike = [
            f"--{name} {mine[name]} here, {theirs.get(name)} there" for name in SAME if theirs.get(name) != mine[name]
        ]
        if unlike:
            raise UsageError(
                "E-OPTIONS-DIFFER",
                f"the two ends were asked differently: {'; '.join(unlike)}",
                "give both the same options",
            )
        mwares = _merged(self.mwares, theirs["mwares"], listener)
        names = _merged(self.plugins, theirs["plugins"], listener)
        for mware in mwares:
            reasons = {name: self._reason(mware, name, theirs) for name in names}
            for name, why in reasons.items():
                if why:
                    self.outcome(mware, name, "missing", why)
            todo = [name for name, why in reasons.items() if not why]
            if todo:
                yield self._known[mware], todo

    def _reason(self, mware: str, plugin: str, theirs: Said) -> str:
        """Why a pair is not measured: first what is missing here, then there, then what was not asked for."""
        for name, ours, others in ((mware, self.mwares, "mwares"), (f"/{plugin}", self.plugins, "plugins")):
            if name in self.absent:
                return self.absent[name]
            if name in theirs["absent"]:
                return f"there: {theirs['absent'][name]}"
            if name.lstrip("/") not in ours or name.lstrip("/") not in theirs[others]:
                return "asked for at one end only"
        return self._apart(mware, plugin)

    def _apart(self, mware: str, plugin: str) -> str:
        """Why the two have no Python together; empty where they have."""
        try:
            command(self._known[mware].offers["python"], plugins.PLUGINS[plugin].codec)
        except HopmeterError as none:
            return str(none)
        return ""

    def outcome(self, mware: str, plugin: str, status: str, reason: str = "", **found: Any) -> None:
        """Keeps what became of a pair, under the names that were typed."""
        labels = self._labels.get(mware, mware), self._labels.get(f"/{plugin}", plugin)
        self._results.add(Outcome(*labels, mware, plugin, status, reason, **found))

    def _lead(self, steps: Steps, manifest: Manifest, todo: list[str]) -> None:
        """One middleware, with its broker."""
        with ExitStack() as closing_:
            given = self._asked.daemons.get(manifest.name)
            try:
                broker = closing_.enter_context(brokers.running(manifest, given, steps.directory(), steps.here.host))
            except HopmeterError as failed:
                steps.peer.say(say="skipped", mware=manifest.name, plugins=todo, error=str(failed))
                for plugin in todo:
                    self.outcome(manifest.name, plugin, "failed", str(failed))
                return
            for plugin in todo:
                number = next(self._numbers)
                steps.peer.say(say="pair", pair=number, mware=manifest.name, plugin=plugin, broker=broker.told())
                steps.take("publish", number, manifest, plugin, broker)

    def _follow(self, steps: Steps) -> None:
        """Whatever the publisher announces, until it is over."""
        while True:
            said = steps.peer.expect("pair", "skipped", "over", within_s=PATIENCE_S, alarm=steps.alarm)
            if said["say"] == "over":
                return
            if said["say"] == "skipped":
                for plugin in said["plugins"]:
                    self.outcome(str(said["mware"]), str(plugin), "failed", f"there: {said['error']}")
                continue
            if said["mware"] not in self.mwares or said["plugin"] not in self.plugins:
                raise GoneError(
                    "E-OPTIONS-DIFFER",
                    f"the other end wants {said['plugin']} over {said['mware']}, which was not asked for",
                )
            manifest = self._known[said["mware"]]
            steps.take("listen", said["pair"], manifest, said["plugin"], steps.broker(manifest, said["broker"]))

    def told(self, role: str, manifest: Manifest, plugin: str, link: str) -> dict[str, Any]:
        """What a participant is told, but for where it is, its broker and where its rows go."""
        options = {name: getattr(self._asked, name) for name in SAME}
        what = {"transport": manifest.name, "plugin": plugin, "codec": plugins.PLUGINS[plugin].codec}
        return {"role": role, "link": link, **what, **options}

    @property
    def name(self) -> str:
        """What both ends meet under."""
        return self._asked.name


@dataclass
class Steps:
    """Pairs, one after the other."""

    study: Study
    peer: Wire
    alarm: Alarm
    ground: ScratchDir
    here: Here

    def directory(self) -> Path:
        """A fresh private folder."""
        return self.ground.trial()

    def broker(self, manifest: Manifest, said: dict[str, Any]) -> brokers.Broker:
        """The broker that the other end told of."""
        own = {"here": self.here.host, "directory": str(self.directory())} if self.here.host else None
        return brokers.Broker.heard(manifest, said, own)

    def take(self, role: str, number: int, manifest: Manifest, plugin: str, broker: brokers.Broker) -> None:
        """One pair: its participant here, and what came of it, which is kept whatever happens."""
        directory = self.directory()
        rows = directory / "rows.npy"
        told = self.study.told(role, manifest, plugin, f"{self.study.name}_{number}")
        told |= {"folder": str(self.here.folder), "host": self.here.host}
        told |= {"rows": str(rows), "daemon": broker.address if manifest.daemon else None}
        theirs = None if self.study.one_clock or role == "publish" else clocks.Clocks(self.peer, self.alarm)
        interrupted: InterruptedRunError | None = None
        with Child(manifest.offers["python"], told, directory, broker.environment) as child:
            pair = Pair(number, child, self.peer, self.alarm, theirs)
            try:
                pair.run()
            except InterruptedRunError as rung:
                interrupted = rung
        Rendezvous(self.here.folder, manifest.name).sweep()
        found = _measured(rows, theirs)
        self._keep(role, (manifest.name, plugin), pair.spoken, found, interrupted is not None)
        if interrupted is not None:
            raise interrupted
        if pair.spoken.left:
            raise GoneError("E-PEER-GONE", "the other end has left", "what was measured until then is kept")

    def _keep(self, role: str, pair: tuple[str, str], spoken: Spoken, found: dict[str, Any], interrupted: bool) -> None:
        status, reason = ("failed", "interrupted") if interrupted else (spoken.status, spoken.failure)
        sent = (spoken.here if role == "publish" else spoken.there).get("sent", {})
        back = (spoken.there if role == "publish" else spoken.here).get("finished", {})
        counts = {"sent": sent.get("accepted"), "received": back.get("received"), "wrong": back.get("wrong")}
        self.study.outcome(*pair, status, reason, **(found | counts))


def _measured(file: Path, theirs: clocks.Clocks | None) -> dict[str, Any]:
    """What was recorded, by this machine's clock."""
    rows = np.load(file) if file.exists() else None
    if rows is None or theirs is None:
        return {"rows": rows}
    return {"rows": rows, "clocks": theirs.settle(rows)}


def _merged(mine: list[str], theirs: list[str], listener: bool) -> list[str]:
    """Names of both ends in the publisher's order, then those of the listener alone."""
    first, second = (theirs, mine) if listener else (mine, theirs)
    return list(dict.fromkeys([*map(str, first), *map(str, second)]))
