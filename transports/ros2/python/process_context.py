"""The state that all link ends of a process share: the context, the quality of service, nodes and executors."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import rclpy.executors
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

from hopmeter.node.contract import AdapterError, Link, Setup

DOMAINS = 99
"""Domain numbers below this one use only ports below the system's ephemeral ports."""


LONG_S = 1.0
PROFILES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
"""With LOCALHOST, rmw_fastrtps replaces the transports in these profiles with its own transports."""
FIRST_WITH_RANGE = 4
"""The major version of rclpy in Iron, the first that reads the discovery range."""


class NoReplyError(Exception):
    """A callback raises this exception to leave a request unanswered, because rclpy sends every value that a callback
    returns."""


def name_of(link: Link) -> str:
    """Return the ROS name of a link, which must begin with a letter; a link's name may begin with another character."""
    return f"/hopmeter_{link.name}"


def domain_of(run: str) -> int:
    """Return the domain of a trial. The C++ adapter and `ros2-wire` compute the same domain number."""
    return 1 + int(run[:8], 16) % DOMAINS


def qos_of(settings: dict[str, Any]) -> QoSProfile:
    if settings["qos"] == "sensor-data":
        return qos_profile_sensor_data
    qos = QoSProfile(depth=settings["depth"])
    if settings["history"] == "keep-all":
        qos.history = HistoryPolicy.KEEP_ALL
    if settings["reliability"] == "best-effort":
        qos.reliability = ReliabilityPolicy.BEST_EFFORT
    if settings["durability"] == "transient-local":
        qos.durability = DurabilityPolicy.TRANSIENT_LOCAL
    return qos


class ProcessContext:
    def __init__(self, setup: Setup) -> None:
        self.settings = setup.settings
        self.shares = setup.settings["executor_of"] == "process"
        self.qos = qos_of(setup.settings)
        is_local = setup.advertised.startswith("127.") and not any(map(os.environ.get, PROFILES))
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST" if is_local else "SUBNET"
        if int(metadata.version("rclpy").partition(".")[0]) < FIRST_WITH_RANGE:
            os.environ["ROS_LOCALHOST_ONLY"] = str(int(is_local))
        self.ros_context = Context()
        # Logging would write files to the user's home directory.
        self.ros_context.init([], initialize_logging=False, domain_id=domain_of(setup.run))
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._node: Node | None = None
        self._group = MutuallyExclusiveCallbackGroup()
        self._spinning: Spinning | None = None
        self._clients: Counter[int] = Counter()
        """The number of open clients of each endpoint, by the endpoint's thread."""
        self._nested = 0
        """The number of servers in the shared executor that wait for other servers in the same executor."""
        self.executors = self.ends = 0
        self.callers: set[int] = set()

    def called_node(self) -> Node:
        """Return a node for a link end with a callback.

        An executor runs only whole nodes, so link ends that share an executor also share a node.
        """
        if not self.shares:
            return self.node()
        with self._lock:
            self._node = self._node or self.node()
            return self._node

    def group(self) -> CallbackGroup:
        """Return a callback group for a link end with a callback."""
        if self.settings["callback_group"] == "reentrant":
            return ReentrantCallbackGroup()
        return self._group if self.settings["callback_group_of"] == "process" else MutuallyExclusiveCallbackGroup()

    def executor_thread(self, node: Node) -> Spinning:
        """Return the executor of a link end with a callback: the link end's own executor, or the shared executor. Call
        `leave_executor` after the link end has been closed."""
        with self._lock:
            executor_thread = self._spinning or Spinning(self, node)
            self._spinning = executor_thread if self.shares else None
            executor_thread.ends += 1
            self.ends += 1
            return executor_thread

    def leave_executor(self, executor_thread: Spinning) -> None:
        """Leave the link end's executor, which stops after the last link end has left."""
        with self._lock:
            executor_thread.ends -= 1
            if executor_thread.ends:
                return
            self._spinning = None
        executor_thread.stop()

    def note_client(self, thread: int, change: int) -> None:
        """Record that an endpoint opened (1) or closed (-1) a client."""
        with self._lock:
            self._clients[thread] += change

    def note_server(self) -> bool:
        """Record that an endpoint has opened a server, and return whether this endpoint also calls servers. An endpoint
        that both serves and calls counts as occupying a thread of a shared executor until `forget_nested`."""
        with self._lock:
            if not self.shares or not self._clients[threading.get_ident()]:
                return False
            if self._nested + 1 >= self._parallel_calls():
                raise AdapterError(
                    "servers that call servers share one executor, which runs at most "
                    f"{self._parallel_calls()} calls at once, so no thread is left for the last call",
                    "use executor=multi with more threads than there are relays and callback_group_of=end, "
                    "or executor_of=end",
                )
            self._nested += 1
            return True

    def forget_nested(self) -> None:
        """Record that a server was closed whose endpoint also calls servers."""
        with self._lock:
            self._nested -= 1

    def _parallel_calls(self) -> int:
        sequential = self.settings["callback_group"] == "exclusive" and self.settings["callback_group_of"] == "process"
        return self.settings["threads"] if self.settings["executor"] == "multi" and not sequential else 1

    def node(self) -> Node:
        """Return a node for one link end."""
        speaks = not self.settings["bare"]
        return Node(
            f"hopmeter_{os.getpid()}_{next(self._numbers)}",
            context=self.ros_context,
            use_global_arguments=False,
            enable_rosout=speaks,
            start_parameter_services=speaks,
        )

    def executor(self) -> Any:
        """Return the executor that runs one link end's callbacks."""
        kind = self.settings["executor"]
        if kind == "single":
            return rclpy.executors.SingleThreadedExecutor(context=self.ros_context)
        if kind == "multi":
            return rclpy.executors.MultiThreadedExecutor(self.settings["threads"], context=self.ros_context)
        if kind != "events" or find_spec("rclpy.experimental") is None:
            raise AdapterError(f"this rclpy has no executor `{kind}`", "choose the executor `single` or `multi`")
        return importlib.import_module("rclpy.experimental").EventsExecutor(context=self.ros_context)

    def executor_facts(self) -> dict[str, str]:
        """Return the facts about the threads and executors of the link ends' callbacks."""
        if not self.executors:
            return {}
        counts = ((self.ends, "end"), (len(self.callers), "thread"), (self.executors, "executor"))
        ends, threads, executors = (f"{many} {what}{'' if many == 1 else 's'}" for many, what in counts)
        return {"executors": f"{ends} called by {threads} of {executors}"}

    def close(self) -> None:
        if self._node is not None:
            self._node.destroy_node()
        self.ros_context.try_shutdown()


class Polled:
    """Runs a node's callbacks on the polling thread."""

    def __init__(self, context: ProcessContext, link: Link, node: Node) -> None:
        self._spins, self._node = link.wait == "spin", node
        self._executor = rclpy.executors.SingleThreadedExecutor(context=context.ros_context)
        self._executor.add_node(node)

    def look(self, timeout_s: float) -> None:
        with contextlib.suppress(NoReplyError):
            self._executor.spin_once(0 if self._spins else timeout_s)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()


class Spinning:
    """An executor that spins one node on its own thread."""

    def __init__(self, context: ProcessContext, node: Node) -> None:
        self.ends, self._executor, self._stopped = 0, context.executor(), False
        # Without a time limit, the events executor of PyPI's rclpy 9.1.2 spins but runs no callbacks.
        self._timeout_s = LONG_S if context.settings["executor"] == "events" else None
        context.executors += 1
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped:
            with contextlib.suppress(NoReplyError):
                self._executor.spin_once(self._timeout_s)

    def stop(self) -> None:
        self._stopped = True
        self._executor.create_task(lambda: None)  # ends a spin, because `spin_once` returns after a task
        self._thread.join()
        pool = getattr(self._executor, "_executor", None)
        if isinstance(pool, ThreadPoolExecutor):
            pool.shutdown()  # rclpy does not wait for running callbacks, and leaves threads to the garbage collector
        self._executor.shutdown()


class Called:
    """A link end that an executor calls, one call at a time, from `start` until the link end is closed.

    `open_end` opens the link end in the given `node` and `group`, and returns a function that removes the link end from
    a shared node.
    """

    def __init__(self, context: ProcessContext, open_end: Callable[[Called], Callable[[], Any]]) -> None:
        self._context, self._gate, self._is_open = context, threading.Lock(), False
        self._spinning: Spinning | None = None
        self.is_nested = False
        """Whether this link end is a server that also calls servers."""
        self.node, self.group = context.called_node(), context.group()
        leave = open_end(self)
        self._leave = leave if context.shares else self.node.destroy_node

    def call_if_open(self, call: Callable[[], None]) -> None:
        """Call `function` unless the link end is closed. A shared executor may have taken a message just before the
        link end was closed."""
        with self._gate:
            if self._is_open:
                self._context.callers.add(threading.get_ident())
                call()

    def start(self) -> None:
        self._is_open = True
        self._spinning = self._context.executor_thread(self.node)

    def close(self) -> None:
        with self._gate:
            self._is_open = False
        if self._spinning is not None:
            self._context.leave_executor(self._spinning)
        if self.is_nested:
            self._context.forget_nested()
        self._leave()
