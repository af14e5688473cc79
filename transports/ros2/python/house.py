"""What the ends of a process share: the context, how topics are served, nodes, and what calls their callbacks."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import rclpy.executors
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

from hopmeter.node.contract import AdapterError, Link, Setup

DOMAINS = 99
"""The ports of lower domains stay below those that the system gives to whoever asks."""


class NoReplyError(Exception):
    """A request that nobody answers. rclpy sends whatever a service's callback returns; only this keeps it from it."""


def name_of(link: Link) -> str:
    """Names of ROS begin with a letter, those of links may not."""
    return f"/hopmeter_{link.name}"


def domain_of(run: str) -> int:
    """The domain of a trial. Peers in C++, and those of the transport ros2-wire, reckon the same."""
    return 1 + int(run[:8], 16) % DOMAINS


def qos_of(given: dict[str, Any]) -> QoSProfile:
    if given["qos"] == "sensor-data":
        return qos_profile_sensor_data
    qos = QoSProfile(depth=given["depth"])
    if given["reliability"] == "best-effort":
        qos.reliability = ReliabilityPolicy.BEST_EFFORT
    if given["durability"] == "transient-local":
        qos.durability = DurabilityPolicy.TRANSIENT_LOCAL
    return qos


class House:
    def __init__(self, setup: Setup) -> None:
        self.settings, self.wait = setup.settings, setup.wait
        self.qos = qos_of(setup.settings)
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        self.context = Context()
        # Logging would write files into the user's home.
        self.context.init([], initialize_logging=False, domain_id=domain_of(setup.run))
        self._numbers = itertools.count()

    def node(self) -> Node:
        """A node for one end."""
        speaks = not self.settings["bare"]
        return Node(
            f"hopmeter_{os.getpid()}_{next(self._numbers)}",
            context=self.context,
            use_global_arguments=False,
            enable_rosout=speaks,
            start_parameter_services=speaks,
        )

    def executor(self) -> Any:
        """What calls the callbacks of one end."""
        kind = self.settings["executor"]
        if kind == "single":
            return rclpy.executors.SingleThreadedExecutor(context=self.context)
        if kind == "multi":
            return rclpy.executors.MultiThreadedExecutor(self.settings["threads"], context=self.context)
        if kind != "events" or find_spec("rclpy.experimental") is None:
            raise AdapterError(f"this rclpy has no executor `{kind}`", "ask for the executor `single` or `multi`")
        return importlib.import_module("rclpy.experimental").EventsExecutor(context=self.context)

    def close(self) -> None:
        self.context.try_shutdown()


class Polled:
    """Calls the callbacks of a node on the thread that polls it."""

    def __init__(self, house: House, node: Node) -> None:
        self._spins, self._node = house.wait == "spin", node
        self._executor = rclpy.executors.SingleThreadedExecutor(context=house.context)
        self._executor.add_node(node)

    def look(self, timeout_s: float) -> None:
        with contextlib.suppress(NoReplyError):
            self._executor.spin_once(0 if self._spins else timeout_s)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()


class Executing:
    """An executor that spins for one node on a thread of its own."""

    def __init__(self, house: House, node: Node) -> None:
        self._node, self._executor, self._closed = node, house.executor(), False
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed:
            with contextlib.suppress(NoReplyError):
                self._executor.spin_once()

    def close(self) -> None:
        self._closed = True
        self._executor.create_task(lambda: None)  # only work ends a spin, a wake does not
        self._thread.join()
        pool = getattr(self._executor, "_executor", None)
        if isinstance(pool, ThreadPoolExecutor):
            pool.shutdown()  # rclpy does not wait for callbacks that run, and leaves threads to the garbage collector
        self._executor.shutdown()
        self._node.destroy_node()
