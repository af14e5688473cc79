"""Errors that make a single trial fail, while the run continues with other cells."""

from __future__ import annotations

from hopmeter.messages import tag


class TrialFailedError(Exception):
    """A failed trial, with the reason for the failure and advice for the user. If `crash` is set, this error takes
    precedence over errors that the crash causes in other nodes."""

    def __init__(self, code: str, what: str, remedy: str = "", crash: bool = False) -> None:
        super().__init__(code, what, remedy, crash)
        self.code = code
        self.what = what
        self.remedy = remedy
        self.crash = crash

    @property
    def reason(self) -> str:
        """The reason for the failure, followed by its error code."""
        return tag(self.code, self.what)

    def __str__(self) -> str:
        return self.reason


class InterruptedRunError(Exception):
    """The run was interrupted by Ctrl-C or a termination signal."""
