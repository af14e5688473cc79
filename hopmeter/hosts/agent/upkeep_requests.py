"""Requests that a coordinator sends to a host outside a run: network probes and builds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.host_build import BuildOrder, HostBuild
from hopmeter.hosts.protocol.schema_files import put_files
from hopmeter.hosts.protocol.stream_probe import StreamReceiver

MOST_WORDS, LONGEST_WORD = 1000, 60


class Upkeep:
    """The stream probe and the build that one coordinator has started. At most one stream probe and one build run at a
    time."""

    def __init__(self, folder: Path, file: Callable[[str], Path]) -> None:
        """Build in `folder`. `file` is a function that takes the hash of a received file and returns its path."""
        self._folder, self._file = folder, file
        self._stream: StreamReceiver | None = None
        self._build: HostBuild | None = None

    def open_stream(self, ask: Mapping[str, Any], token: bytes) -> dict[str, Any]:
        """Listen on a free port for the data stream of a network probe, and return the port number."""
        self._close_stream()
        self._stream = StreamReceiver(value_checks.address(ask, "address"), token)
        return {"port": self._stream.port}

    def read_stream(self) -> dict[str, Any]:
        """Wait until the stream of the network probe ends, and return the number of received bytes and the duration in
        nanoseconds."""
        assert self._stream is not None, "the coordinator has opened it"
        many, ns = self._stream.result()
        self._close_stream()
        return {"bytes": many, "ns": ns}

    def _close_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def start_build(self, ask: Mapping[str, Any]) -> dict[str, Any]:
        """Start the build that the coordinator requested."""
        if self._build is not None:
            raise ValueError("a build runs already")
        self._build = HostBuild(self._order(ask), self._folder)
        return {}

    def _order(self, ask: Mapping[str, Any]) -> BuildOrder:
        return BuildOrder(
            _words(ask, "transports"),
            _words(ask, "languages"),
            ask.get("system_packages") is True,
            [self._put(number, each) for number, each in enumerate(value_checks.items(ask, "messages", MOST_WORDS))],
            _words(ask, "codecs"),
            _words(ask, "settings"),
        )

    def _put(self, number: int, message: Any) -> str:
        return put_files(
            self._folder / f"schema{number}", value_checks.table({"message": message}, "message"), self._file
        )

    def read_build(self, ask: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything that the build has printed after a byte offset. If the build has ended, the answer contains
        its exit code."""
        assert self._build is not None, "the coordinator has started it"
        report = self._build.report(value_checks.number(ask, "offset"))
        if report["code"] is not None:
            self._end_build()
        return report

    def _end_build(self) -> None:
        if self._build is not None:
            self._build.close()
            self._build = None

    def close(self) -> None:
        """Stop the stream probe and the build."""
        self._close_stream()
        self._end_build()


def _words(ask: Mapping[str, Any], key: str) -> list[str]:
    return [value_checks.text({key: each}, key, LONGEST_WORD) for each in value_checks.items(ask, key, MOST_WORDS)]
