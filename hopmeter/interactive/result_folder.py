"""The result directory of one command: a log, samples, and a file with the requested options and the outcome."""

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


class ResultFolder:
    """The result directory of the listener, the publisher or the asker. The directory is created when the first content
    is written.

    Raises UsageError if the directory already contains a measurement, and StoreError if the directory is not writable.
    """

    def __init__(self, side: str, folder: Path) -> None:
        self.side, self.folder = side, folder
        self.log = folder / f"{side}.csv"
        self.samples = folder / "samples"
        if self.log.exists():
            raise UsageError("E-EXISTS", f"{self.log} exists already", "name another folder: --out DIR")

    def write_about(self, about: Mapping[str, Any]) -> None:
        """Write the file with the requested options and the outcome."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / BY_HAND, dict(about))

    def add_log(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Append lines to the CSV log. If the log file is new, a header line is written first."""
        with writing(self.log):
            self.folder.mkdir(parents=True, exist_ok=True)
            is_new = not self.log.exists()
            with self.log.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerows([columns] if is_new else [])
                writer.writerows(rows)

    def add_samples(self, name: str, columns: Mapping[str, Any]) -> None:
        """Write a table of samples to the directory `samples/`."""
        path = self.samples / f"{'-'.join([self.side, name]).rstrip('-')}.parquet"
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(dict(columns)), path)

    @property
    def where(self) -> str:
        """Return the location of the results as text, or an empty string if there are no results."""
        if not self.log.exists():
            return ""
        return f"log: {self.log}, samples: {self.samples}; `hopmeter report {self.folder}` writes a report"
