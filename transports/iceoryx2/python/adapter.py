"""The adapter for iceoryx2 in Python; ../README.md describes services, events and settings."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import iceoryx2

from hopmeter.node.base import BaseTransport, opens, package_version
from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Setup, Take

Bytes = iceoryx2.Slice[ctypes.c_uint8]


class Publisher:
    address = ""

    def __init__(self, transport: Transport, link: Link) -> None:
        builder = transport.frames(link).publisher_builder().initial_max_slice_len(link.frame_bytes)
        self._publisher = builder.backpressure_strategy(iceoryx2.BackpressureStrategy.DiscardData).create()
        self._notifier = transport.events(link).notifier_builder().create() if link.wait == "block" else None
        self._refuses = transport.refuses
        self._array: Any = ctypes.c_uint8 * 0

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        length = HEADER_BYTES + payload_bytes
        if self._array._length_ != length:
            self._array = ctypes.c_uint8 * length
        try:
            loan = self._publisher.loan_slice_uninit(length)
        except iceoryx2.LoanError:
            return False
        fill(self._array.from_address(loan.payload_ptr))
        reached = loan.assume_init().send()
        if self._notifier is not None:
            self._notifier.notify()
        return bool(reached) or not self._refuses

    def close(self) -> None:
        self._publisher.delete()
        if self._notifier is not None:
            self._notifier.delete()


class Subscriber:
    def __init__(self, transport: Transport, link: Link) -> None:
        self._subscriber = transport.frames(link).subscriber_builder().create()
        self._listener = transport.events(link).listener_builder().create() if link.wait == "block" else None
        self._timeout_s, self._timeout = 0.0, iceoryx2.Duration.from_nanos(0)

    def poll(self, timeout_s: float, take: Take) -> int:
        count = self._drain(take)
        if count or self._listener is None:
            return count
        if timeout_s != self._timeout_s:
            self._timeout_s, self._timeout = timeout_s, iceoryx2.Duration.from_secs_f64(timeout_s)
        self._listener.timed_wait(self._timeout)
        return self._drain(take)

    def _drain(self, take: Take) -> int:
        count = 0
        while (sample := self._subscriber.receive()) is not None:
            take(sample.payload().as_memory_view())
            sample.delete()
            count += 1
        return count

    def close(self) -> None:
        self._subscriber.delete()
        if self._listener is not None:
            self._listener.delete()


class Transport(BaseTransport):
    version = package_version("iceoryx2")
    path = "shared memory of iceoryx2"
    publisher = opens(Publisher)
    subscriber = opens(Subscriber)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.refuses = setup.settings["full"] == "busy"
        config = iceoryx2.config.default()
        config.global_cfg.root_path = iceoryx2.Path.new(setup.directory)
        config.global_cfg.prefix = iceoryx2.FileName.new(f"{setup.run}_")
        disabled = iceoryx2.SignalHandlingMode.Disabled
        builder = iceoryx2.NodeBuilder.new().config(config).signal_handling_mode(disabled)
        self._node = builder.create(iceoryx2.ServiceType.Ipc)

    def frames(self, link: Link) -> Any:
        builder = self._node.service_builder(iceoryx2.ServiceName.new(link.name)).publish_subscribe(Bytes)
        builder = builder.max_subscribers(max(8, link.receivers)).max_nodes(max(20, link.receivers + 1))
        builder = builder.subscriber_max_buffer_size(self.settings["buffer"])
        builder = builder.subscriber_max_borrowed_samples(self.settings["borrowed"])
        return builder.enable_safe_overflow(not self.refuses).open_or_create()

    def events(self, link: Link) -> Any:
        builder = self._node.service_builder(iceoryx2.ServiceName.new(link.name)).event()
        builder = builder.max_listeners(max(16, link.receivers)).max_nodes(max(36, link.receivers + 1))
        return builder.open_or_create()

    def close(self) -> None:
        del self._node
        for left in Path("/dev/shm").glob(f"{self.setup.run}_*.global_mgmt"):
            left.unlink(missing_ok=True)  # iceoryx2 keeps this file for the next node, but a trial has no next node
