"""Run a broker on a test host: `python -m conformance.broker`.

The program reads the start order as a JSON line, prints the broker's address as JSON, and stops the broker at the end
of its input.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from hopmeter.manifest import discovery
from hopmeter.manifest.model import Manifest
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess
from tests.hosts.network import ROOT, Host


class HostBroker:
    """A broker that runs on a test host and listens on the address of that host."""

    def __init__(self, manifest: Manifest, context: BrokerContext, host: Host) -> None:
        self._closing = ExitStack()
        self._process = self._closing.enter_context(host.popen([sys.executable, "-m", __name__], cwd=ROOT))
        self._order = {
            "transport": str(manifest.folder / "transport.toml"),
            "run": context.run,
            "settings": dict(context.settings),
            "directory": str(context.directory),
            "log": str(context.log),
            "host": host.address,
        }

    def __enter__(self) -> Self:
        answer = json.loads(self._exchange(json.dumps(self._order)))
        self.address, self.environment, self.pid = answer["address"], answer["environment"], answer["pid"]
        return self

    def _exchange(self, line: str) -> str:
        print(line, file=self._process.stdin, flush=True)
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        assert answer, "the broker did not start"
        return answer

    def close(self) -> None:
        with self._closing:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(20)


def serve(order: dict[str, Any]) -> None:
    manifest = discovery.load(Path(order["transport"])).for_settings(order["settings"])
    assert manifest.broker is not None
    directory, log = Path(order["directory"]), Path(order["log"])
    context = BrokerContext(order["run"], directory, order["settings"], log, host=order["host"])
    with BrokerProcess(manifest.broker, context) as broker:
        found = {"address": broker.address, "environment": broker.environment, "pid": broker.pid}
        print(json.dumps(found), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve(json.loads(sys.stdin.readline()))
