"""The entry of the command `hopmeter`, and its last messages."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from hopmeter.errors import HopmeterError, StoppedError

INTERRUPTED = StoppedError.exit_code


def run() -> None:
    """Run the command line: print errors in words, and exit with the code of their kind."""
    try:
        # Loading takes a while, and Ctrl-C may come meanwhile: it is handled here too.
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
        # The reader of the output has closed it; Python must not complain at exit that it cannot flush.
        sys.stdout = None
        sys.exit(0)


def _is_ctrl_c(ended: SystemExit) -> bool:
    """Whether Ctrl-C caused this exit: Typer turns it into an exit without a message."""
    return isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt)


def _stop() -> None:
    print("\nhopmeter: stopped", file=sys.stderr)
    sys.exit(INTERRUPTED)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print in a line the warning that Python would print with its position in hopmeter."""
    print(f"hopmeter: {message}", file=sys.stderr)


def fail(failed: HopmeterError) -> None:
    """Say on stderr what failed and what to do."""
    from hopmeter.system.terminal import Console

    console = Console(stderr=True, highlight=False)
    console.print(f"hopmeter: {failed.message}", style="bold red", markup=False, soft_wrap=True)
    if failed.remedy:
        console.print(f"  {failed.remedy}", markup=False, soft_wrap=True)
