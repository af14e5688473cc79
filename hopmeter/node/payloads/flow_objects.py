"""Creates the objects of a node's flows.

Each flow with a codec has an object of its own, but equal objects share their memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hopmeter.node.contract import ObjectTransport
from hopmeter.node.loading import transport_class

OBJECT = ("codec", "object", "device", "share")
"""The keys that describe a flow's object in the spec."""


class FlowObjects:
    """Creates the objects for the flows that a spec describes."""

    def __init__(self, spec: Mapping[str, Any], adapter: Path) -> None:
        self._spec, self._adapter = spec, adapter
        self._made: dict[tuple[Any, ...], Any] = {}
        self.by_link: dict[str, Any] = {}
        """The object of each link, by link name, for a transport that encodes objects itself. Links without an object
        are left out."""

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the flows that have a codec."""
        return [flow["number"] for flow in self._spec.get("flows", ()) if flow.get("codec")]

    def make(self, number: int) -> Any:
        """Create the object of a flow. This call takes seconds, because it imports the codec's framework."""
        from hopmeter.node.payloads.native_objects import NativeObjects

        objects = self._objects(number)
        if not issubclass(transport_class(self._adapter), ObjectTransport):
            return objects
        native = NativeObjects(objects)
        self.by_link |= dict.fromkeys(self._link_names(number), native)
        return native

    def _objects(self, number: int) -> Any:
        from hopmeter.node.payloads.objects import open_objects

        flow = next(each for each in self._spec["flows"] if each["number"] == number)
        key = tuple(flow.get(name) for name in OBJECT)
        if key in self._made:
            return self._made[key].for_another_flow()
        self._made[key] = open_objects(flow["codec"], flow["object"], flow["device"], flow.get("share", "none"))
        return self._made[key]

    def _link_names(self, number: int) -> Iterator[str]:
        """Yield the names of a flow's links. A flow of calls may have two links, `ID.request` and `ID.reply`."""
        ours = [each for each in self._spec["endpoints"] if each["flow"] == number]
        ids = {link for each in ours for link in (*each["in"], *each["out"])}
        for link, described in self._spec["links"].items():
            if link.removesuffix(".request").removesuffix(".reply") in ids:
                yield described["name"]
