"""Errors that make one trial fail, while other cells continue."""

from __future__ import annotations

from hopmeter.messages import tag


class TrialFailedError(Exception):
    """One trial failed; the error contains the reason and the remedy. If a node crashed (`crash`), the launcher
    reports the crash instead of the errors that it causes in other nodes."""

    def __init__(self, code: str, what: str, remedy: str = "", crash: bool = False) -> None:
        super().__init__(code, what, remedy, crash)
        self.code = code
        self.what = what
        self.remedy = remedy
        self.crash = crash

    @property
    def reason(self) -> str:
        """The reason of the failure, with its code at the end."""
        return tag(self.code, self.what)

    def __str__(self) -> str:
        return self.reason


class InterruptedRunError(Exception):
    """The run was interrupted by Ctrl-C or by a signal to terminate."""
