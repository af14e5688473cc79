"""What object a framework makes of an array of numbers, and its own way back to one: every codec that can be measured
says so as `FORM`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Form:
    """How an array becomes an object of a framework on a device, and an array again by the framework's own means.

    The framework is imported when one of these is called, and not before.
    """

    make: Callable[[Array, str], Any]
    """Of an array and a place: `gpu` below, or nothing for the CPU."""
    read: Callable[[Any], Array] = np.asarray
    floats: str = "float64"
    """What the framework makes ones of where nobody says otherwise."""
    cpu: bool = True
    """Whether its objects can live on the CPU."""
    gpu: str = ""
    """A GPU in the framework's words; empty where it knows none."""
    gpus: Callable[[], int] = lambda: 0
    """How many GPUs the framework sees; may raise where there is no driver."""
    settle: Callable[[Any], Any] | None = None
    """Waits for a copy to a GPU that goes on after the call that asked for it."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Where its objects can live, `cpu` or `gpu`."""
        return (*(("cpu",) if self.cpu else ()), *(("gpu",) if self.gpu else ()))

    def has_gpu(self) -> bool:
        """Whether the framework finds a GPU here."""
        try:
            return self.gpus() > 0
        except Exception:  # noqa: BLE001 (each library has errors of its own for a driver that is not there)
            return False


def rows(array: Array) -> Array:
    """Return a table with one row per pixel of an image."""
    return array if array.ndim <= 2 else array.reshape(-1, array.shape[-1])
