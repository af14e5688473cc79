"""The folder of what somebody measured by hand: log, samples, and what was asked and came of it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hopmeter.errors import UsageError
from hopmeter.store.disk import write_json, writing
from hopmeter.store.run_folder import BY_HAND


class Kept:
    """The folder of one side, `listener`, `publisher` or `asker`; made with the first that is put into it.

    Raises UsageError where another measurement lies there, and StoreError where nothing can be written.
    """

    def __init__(self, side: str, folder: Path) -> None:
        self.side, self.folder = side, folder
        self.log = folder / f"{side}.csv"
        if self.log.exists():
            raise UsageError("E-EXISTS", f"{self.log} is there already", "name another folder: --out DIR")

    def tell(self, told: Mapping[str, Any]) -> None:
        """What was asked for, where, and what came of it, in place of what was told before."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / BY_HAND, dict(told))

    def add_log(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """More lines of the CSV, under a head that the first ones bring."""
        with writing(self.log):
            self.folder.mkdir(parents=True, exist_ok=True)
            fresh = not self.log.exists()
            with self.log.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerows([columns] if fresh else [])
                writer.writerows(rows)

    def add_samples(self, name: str, columns: Mapping[str, Any]) -> None:
        """A table in `samples/`."""
        path = self.samples / f"{'-'.join([self.side, name]).rstrip('-')}.parquet"
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(dict(columns)), path)

    @property
    def samples(self) -> Path:
        """Where those lie."""
        return self.folder / "samples"

    @property
    def where(self) -> str:
        """For whoever looks for it; empty where nothing was kept."""
        if not self.log.exists():
            return ""
        return f"log: {self.log}, samples: {self.samples}; `hopmeter report {self.folder}` draws it"
