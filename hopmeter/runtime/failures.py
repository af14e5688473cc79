"""The reasons why a trial fails; other cells continue."""

from __future__ import annotations


class TrialFailedError(Exception):
    """One trial failed: the reason and the remedy. A `crash` outranks the errors that it causes in other nodes."""

    def __init__(self, reason: str, remedy: str = "", crash: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.crash = crash


class InterruptedRunError(Exception):
    """The run was interrupted: Ctrl-C, or a signal to terminate."""
