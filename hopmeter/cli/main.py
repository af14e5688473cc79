"""The entry point of the command `hopmeter`, which also prints errors."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from hopmeter.errors import HopmeterError, StoppedError

INTERRUPTED = StoppedError.exit_code


def run() -> None:
    """Run the command line. On an error, print its message and exit with the code of that kind of error."""
    try:
        # The imports take a while, so they are inside `try`: Ctrl-C during an import is handled too.
        from hopmeter.cli.parts.application import app, register_for
        from hopmeter.system import terminal

        terminal.replace_what_cannot_be_encoded()
        warnings.showwarning = _show_warning
        register_for(sys.argv[1:])
        app()
    except HopmeterError as failed:
        fail(failed)
        sys.exit(failed.exit_code)
    except KeyboardInterrupt:
        _stop()
    except SystemExit as ended:
        if _is_ctrl_c(ended):
            _stop()
        raise
    except BrokenPipeError:
        # The reader has closed the output. Without stdout, Python does not flush the output at exit, which would fail.
        sys.stdout = None
        sys.exit(0)


def _is_ctrl_c(ended: SystemExit) -> bool:
    """Return whether Ctrl-C caused this exit, which Typer turns into an exit without a message."""
    return isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt)


def _stop() -> None:
    print("\nhopmeter: stopped", file=sys.stderr)
    sys.exit(INTERRUPTED)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning on one line, without the source position that Python would add."""
    print(f"hopmeter: {message}", file=sys.stderr)


def fail(failed: HopmeterError) -> None:
    """Print on stderr what failed and how to fix it."""
    from hopmeter.system.terminal import Console

    console = Console(stderr=True, highlight=False)
    console.print(f"hopmeter: {failed.message}", style="bold red", markup=False, soft_wrap=True)
    if failed.remedy:
        console.print(f"  {failed.remedy}", markup=False, soft_wrap=True)
