"""Defines the keys of `[background]`, which requests a background load during each trial."""

from __future__ import annotations

from pydantic import Field, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.model import units
from hopmeter.scenario.values import Cores, Share, Traffic
from hopmeter.scenario.workload import Keys


class Background(Keys):
    """A background load that is the same in every trial."""

    cpu: Share | None = Field(None, description="The utilization of each core of the load.")
    memory: Traffic | None = Field(
        None, description="How many bytes per second the load copies, on all its cores together."
    )
    cores: Cores | None = Field(None, description="The cores of the load; by default all cores that hopmeter may use.")

    @model_validator(mode="after")
    def _check_load(self) -> Background:
        if self.cpu is None and self.memory is None:
            raise RefusedValueError("E-MISSING-KEY", 'give a load: cpu = "50%", or memory = "2GB/s"')
        return self

    @property
    def text(self) -> str:
        """Return the load as text, such as `cpu 50%, memory 2GB/s`."""
        given = (("cpu", self.cpu), ("memory", self.memory), ("cores", self.cores))
        return ", ".join(f"{name} {value}" for name, value in given if value)

    @property
    def cpu_percent(self) -> float:
        """Return the requested utilization of each core in percent, or 0 without CPU load."""
        return units.percent(self.cpu) if self.cpu else 0.0

    @property
    def memory_gb_s(self) -> float:
        """Return the gigabytes to copy per second, or 0 without memory load."""
        return units.bytes_per_second(self.memory) / 1e9 if self.memory else 0.0
