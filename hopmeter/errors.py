"""The exceptions of hopmeter. Each has a stable code, a description of the failure and a remedy. docs/messages.md
explains every code."""

from __future__ import annotations

from hopmeter.messages import tag, with_remedy


class HopmeterError(Exception):
    """An error that has a code, a description of the failure and, if one is known, a remedy. Use `raise … from` to keep
    the cause."""

    exit_code = 1

    def __init__(self, code: str, what: str, remedy: str = "") -> None:
        super().__init__(code, what, remedy)
        self.code = code
        self.what = what
        self.remedy = remedy

    @property
    def message(self) -> str:
        """The description of the failure, followed by the code of the error."""
        return tag(self.code, self.what)

    def __str__(self) -> str:
        return with_remedy(self.message, self.remedy)


class UsageError(HopmeterError):
    """The user gave an unusable option, scenario or folder. hopmeter raises this error before it measures anything."""

    exit_code = 2


class StoppedError(HopmeterError):
    """The user stopped the command with Ctrl-C before it was done."""

    exit_code = 130


class RefusedValueError(ValueError):
    """A value that cannot be used. The code that catches this error adds the origin of the value to the
    message."""

    def __init__(self, code: str, what: str) -> None:
        super().__init__(code, what)
        self.code = code
        self.what = what

    def __str__(self) -> str:
        return tag(self.code, self.what)
