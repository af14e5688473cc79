"""Defines the manifest table for the cost of building an adapter."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hopmeter.manifest.tables.strict import Strict


class BuildCost(Strict):
    """How much it costs to build an adapter for the first time, on two cores and with an empty cache.

    The cost excludes the instrument and system packages, which many transports share.
    """

    seconds: Annotated[float, Field(gt=0)]
    megabytes: Annotated[float, Field(ge=0)] = 0
    """The download size in megabytes."""
