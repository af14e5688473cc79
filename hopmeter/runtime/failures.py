"""Why a trial did not succeed; other cells go on."""

from __future__ import annotations


class TrialFailedError(Exception):
    """One trial failed: why, and what to do about it. `crash` outranks what other nodes say in consequence."""

    def __init__(self, reason: str, remedy: str = "", crash: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.crash = crash


class InterruptedRunError(Exception):
    """Someone wants the run to end: Ctrl-C, or a signal to terminate."""
