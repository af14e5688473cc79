"""One error type: what failed and what to do about it. Its exit code is what the command ends with."""

from __future__ import annotations


class HopmeterError(Exception):
    """What failed, and the remedy where one is known; the cause is kept by `raise … from`."""

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what} ({self.remedy})" if self.remedy else self.what


class UsageError(HopmeterError):
    """Something that was asked for cannot be: an option, a scenario, a folder. Nothing was measured."""

    exit_code = 2


class StoppedError(HopmeterError):
    """Somebody wanted the command to end before its work was done: Ctrl-C."""

    exit_code = 130
