"""The entry point of the `hopmeter` command, which also prints errors."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from hopmeter.errors import HopmeterError, StoppedError

INTERRUPTED = StoppedError.exit_code


def run() -> None:
    """Run the command line. On an error, print its message and exit with the matching exit code."""
    try:
        # The slow imports are inside `try`, so that Ctrl-C during an import is also handled.
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
        # The program that reads stdout has closed the pipe. Python would fail when it flushes stdout at exit, so stdout
        # is set to None.
        sys.stdout = None
        sys.exit(0)


def _is_ctrl_c(ended: SystemExit) -> bool:
    """Return whether Ctrl-C caused this exit. Typer converts Ctrl-C to an exit without a message."""
    return isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt)


def _stop() -> None:
    print("\nhopmeter: stopped", file=sys.stderr)
    sys.exit(INTERRUPTED)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning on one line, without the source line that Python adds."""
    print(f"hopmeter: {message}", file=sys.stderr)


def fail(failed: HopmeterError) -> None:
    """Print the error and its remedy on stderr."""
    from hopmeter.system.terminal import Console

    console = Console(stderr=True, highlight=False)
    console.print(f"hopmeter: {failed.message}", style="bold red", markup=False, soft_wrap=True)
    if failed.remedy:
        console.print(f"  {failed.remedy}", markup=False, soft_wrap=True)
