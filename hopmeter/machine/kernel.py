"""Reads /proc and /sys.

Any file in /proc and /sys may be missing, for example with another kernel, in a container or on another architecture.
"""

from __future__ import annotations

from pathlib import Path

UNKNOWN = "unknown"


class Kernel:
    """The kernel's files, below a root directory that tests can replace."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def text(self, path: str) -> str:
        """Return a file's text without surrounding white space, or `unknown` if the file cannot be read."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return UNKNOWN

    def number(self, path: str) -> int | None:
        """Return the integer in a file, or None if the file contains no integer."""
        try:
            return int(self.text(path))
        except ValueError:
            return None

    def selected_word(self, path: str) -> str:
        """Return the word in brackets from a list of choices such as `always [madvise] never`, or the whole text if it
        contains no brackets."""
        text = self.text(path)
        _, bracket, rest = text.partition("[")
        return rest.partition("]")[0] if bracket else text

    def field(self, path: str, name: str) -> str:
        """Return the value on the first line of the form `NAME : value` or `NAME=value`, or `unknown` if there is no
        such line."""
        for line in self.text(path).splitlines():
            for separator in (":", "="):
                key, found, value = line.partition(separator)
                if found and key.strip() == name:
                    return value.strip().strip('"')
        return UNKNOWN

    def exists(self, path: str) -> bool:
        """Return whether a file exists."""
        return (self.root / path).exists()

    def matching(self, pattern: str) -> list[Path]:
        """Return the files and directories that match a glob pattern, sorted, as paths relative to the root."""
        return sorted(path.relative_to(self.root) for path in self.root.glob(pattern))
