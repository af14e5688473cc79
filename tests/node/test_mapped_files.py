from __future__ import annotations

import mmap
import os

from hopmeter.node.mapped_files import SHARED_MEMORY, mapped_files


def test_files_are_found_while_they_are_mapped() -> None:
    mine, other = (SHARED_MEMORY / f"hopmeter-test-{os.getpid()}{end}" for end in (".a", ".b"))
    pattern = rf"hopmeter-test-{os.getpid()}\.a"
    try:
        maps = []
        for path in (mine, other):
            with path.open("w+b") as file:
                file.truncate(4096)
                maps.append(mmap.mmap(file.fileno(), 4096))
        assert mapped_files(pattern) == {mine}
        maps[0].close()
        assert mapped_files(pattern) == set()
        maps[1].close()
    finally:
        mine.unlink()
        other.unlink()
