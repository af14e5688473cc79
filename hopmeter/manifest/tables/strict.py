"""Defines the base class of all manifest tables."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A pydantic model that is immutable and rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
