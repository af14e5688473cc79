"""A packed run unpacks to the same run; unpacking a malicious or damaged file writes nothing."""

from __future__ import annotations

import random
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hopmeter.cli.pack import pack as pack_command
from hopmeter.cli.pack import unpack as unpack_command
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.model.trial import TrialResult
from hopmeter.store import pack, query
from hopmeter.store.disk import StoreError
from hopmeter.store.formats import FORMAT
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.why_folder import WhyFolder
from tests.store.raw import write_raw

NAME = "2026-run"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = RunFolder.create(tmp_path / "results", NAME, {"format": FORMAT, "cells": []})
    sent = write_raw(tmp_path / "0.raw", 0, [{"seq": 0, "due": 1, "sent": 2}])
    arrived = write_raw(tmp_path / "1.raw", 1, [{"seq": 0, "arrived": 5}])
    folder.add_trial(TrialResult("c1", 0, good=True, nodes=[{"version": "1.0"}]), [sent, arrived])
    WhyFolder(folder.path).add(TrialResult("c1", 0, good=False, reason="it hung"), [])
    (folder.path / "why" / "c1-threads.parquet").write_bytes(b"readings")
    return folder.finish([{"cell": "c1", "status": "ok"}])


@pytest.fixture
def packed(run: Path, tmp_path: Path) -> Path:
    return RunFolder.open(run).pack(tmp_path / "run.hopmeter.zip")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_run_comes_out(run: Path, packed: Path, tmp_path: Path) -> None:
    folder = pack.unpack(packed, tmp_path / "other")
    assert folder == tmp_path / "other" / NAME
    assert content(folder) == content(run)
    assert [path.name for path in folder.parent.iterdir()] == [NAME]


def test_only_what_commands_read_is_packed_and_twice_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    before = RunFolder.open(run).pack(tmp_path / "a.zip").read_bytes()
    for name in ("report.html", "notes.txt", "logs/c1-0-0.log", "samples/secret.txt"):
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_text("private")
    assert RunFolder.open(run).pack(tmp_path / "b.zip").read_bytes() == before


def test_a_packed_run_is_read_like_its_folder(run: Path, packed: Path) -> None:
    assert RunFolder.open(packed).trials == RunFolder.open(run).trials
    for view in ("cells", "trials", "samples"):
        rows = [query.connect([each]).execute(f"SELECT * FROM {view}").fetchall() for each in (run, packed)]
        assert rows[0]
        assert rows[0] == rows[1]


def test_a_file_that_changed_is_read_again(packed: Path, run: Path) -> None:
    assert len(RunFolder.open(packed).trials) == 1
    lines = RunFolder.resume(run)
    lines.add_trial(TrialResult("c1", 1, good=False, reason="it hung"), [])
    RunFolder.open(lines.finish([])).pack(packed)
    assert len(RunFolder.open(packed).trials) == 2


def test_the_commands_name_what_they_wrote(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pack_command(run)
    unpack_command(Path(f"{NAME}{pack.SUFFIX}"), Path("there"))
    said = capsys.readouterr()
    assert said.out.split() == [f"{NAME}{pack.SUFFIX}", f"there/{NAME}"]
    size = Path(f"{NAME}{pack.SUFFIX}").stat().st_size
    assert 1000 < size < 1_000_000 and said.err.startswith(f"{size / 1000:.0f} kB, ")


def test_an_unfinished_run_is_not_packed(run: Path, tmp_path: Path) -> None:
    part = RunFolder.resume(run)
    with pytest.raises(UsageError, match="E-RUN-UNFINISHED") as error:
        RunFolder.open(part.path).pack(tmp_path / "x.zip")
    assert "--resume" in error.value.remedy
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.parametrize("name", ["cells.parquet", "trials.parquet", "samples/c1-0.parquet"])
def test_a_run_that_lacks_a_file_is_not_packed(run: Path, tmp_path: Path, name: str) -> None:
    folder = RunFolder.open(run)
    (run / name).unlink()
    with pytest.raises(StoreError, match="E-FILE-MISSING") as error:
        folder.pack(tmp_path / "x.zip")
    assert name in error.value.message
    assert not (tmp_path / "x.zip").exists()


def test_a_packed_run_is_not_continued(packed: Path) -> None:
    with pytest.raises(UsageError, match="E-RUN-PACKED"):
        RunFolder.resume(packed)


def test_a_run_that_exists_stays_as_it_is(run: Path, packed: Path) -> None:
    before = content(run)
    with pytest.raises(UsageError, match="E-RUN-EXISTS"):
        pack.unpack(packed, run.parent)
    assert content(run) == before


def rewritten(packed: Path, change: Callable[[zipfile.ZipFile], None], comment: bytes = b"hopmeter pack 1") -> Path:
    """Rewrite the archive: copy its members, then let `change` add others."""
    with zipfile.ZipFile(packed) as old:
        members = [(member, old.read(member)) for member in old.infolist()]
    with zipfile.ZipFile(packed, "w") as new:
        new.comment = comment
        for member, data in members:
            new.writestr(member, data)
        change(new)
    return packed


def link(archive: zipfile.ZipFile) -> None:
    member = zipfile.ZipInfo(f"{NAME}/cpu/link.parquet")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(member, "/etc/passwd")


def bomb(archive: zipfile.ZipFile) -> None:
    archive.writestr(f"{NAME}/cpu/bomb.parquet", bytes(1 << 24), zipfile.ZIP_DEFLATED)


def overlap(archive: zipfile.ZipFile) -> None:
    """Add 200 member names that share the bytes of one member."""
    first = next(each for each in archive.infolist() if each.filename.endswith("c1-0.parquet"))
    for number in range(200):
        member = zipfile.ZipInfo(f"{NAME}/cpu/x{number}.parquet")
        for field in ("header_offset", "file_size", "compress_size", "CRC", "compress_type"):
            setattr(member, field, getattr(first, field))
        archive.filelist.append(member)


def add(name: str) -> Callable[[zipfile.ZipFile], None]:
    return lambda archive: archive.writestr(name, "x")


HOSTILE = {
    "parent": add("../outside.parquet"),
    "deep parent": add(f"{NAME}/samples/../../../outside.parquet"),
    "absolute": add("/tmp/outside.parquet"),
    "backslash": add(f"{NAME}\\..\\outside.parquet"),
    "hidden": add(f"{NAME}/.partial.parquet"),
    "other file": add(f"{NAME}/report.html"),
    "program": add(f"{NAME}/samples/run.sh"),
    "folder": add(f"{NAME}/samples/"),
    "second run": add("other/run.json"),
    "link": link,
    "bomb": bomb,
    "overlap": overlap,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_writes_nothing(packed: Path, tmp_path: Path, what: str) -> None:
    file, target = rewritten(packed, HOSTILE[what]), tmp_path / "deep" / "target"
    before = content(tmp_path)
    with pytest.raises(StoreError, match="E-PACK-UNSAFE"):
        pack.unpack(file, target)
    assert content(tmp_path) == before
    assert not target.exists()


def test_two_files_of_one_name_are_refused(packed: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        file = rewritten(packed, lambda archive: archive.writestr(archive.infolist()[0], "x"))
    with pytest.raises(StoreError, match="E-PACK-UNSAFE"):
        pack.unpack(file, tmp_path / "target")


@pytest.mark.parametrize(("limit", "most"), [("MAX_JSON_BYTES", 10), ("MAX_FILES", 3)])
def test_a_large_run_json_and_too_many_files_are_refused(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(pack, limit, most)
    with pytest.raises(StoreError, match="E-PACK-UNSAFE"):
        pack.unpack(packed, tmp_path / "target")


@pytest.mark.parametrize("comment", [b"", b"hopmeter pack", b"hopmeter pack x", b"a comment of another program"])
def test_a_file_of_another_program_is_refused(packed: Path, tmp_path: Path, comment: bytes) -> None:
    with pytest.raises(StoreError, match="E-PACK-DAMAGED"):
        pack.unpack(rewritten(packed, lambda _: None, comment), tmp_path / "target")


def test_a_later_layout_is_named(packed: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="E-RUN-FORMAT"):
        pack.unpack(rewritten(packed, lambda _: None, b"hopmeter pack 2"), tmp_path / "target")


def test_a_file_that_does_not_exist_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="E-NO-RUN"):
        pack.unpack(tmp_path / "nothing.zip", tmp_path)


@pytest.mark.parametrize("text", [b"", b"not a ZIP file", bytes(100)])
def test_a_file_that_is_no_zip_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(text)
    with pytest.raises(StoreError, match="E-PACK-DAMAGED"):
        pack.unpack(tmp_path / "x.zip", tmp_path / "target")


def test_every_truncated_file_writes_nothing(packed: Path, tmp_path: Path) -> None:
    whole, target = packed.read_bytes(), tmp_path / "target"
    for end in range(0, len(whole), 97):
        packed.write_bytes(whole[:end])
        with pytest.raises(StoreError, match="E-PACK-DAMAGED"):
            pack.unpack(packed, target)
    assert not target.exists() or not list(target.iterdir())


def test_a_file_with_a_changed_byte_is_the_same_run_or_an_error(run: Path, packed: Path, tmp_path: Path) -> None:
    whole, expected, chance = packed.read_bytes(), content(run), random.Random(7)
    for number in range(400):
        changed = bytearray(whole)
        changed[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        packed.write_bytes(changed)
        target = tmp_path / f"target-{number}"
        try:
            folder = pack.unpack(packed, target)
        except HopmeterError as error:
            assert error.code.startswith(("E-PACK", "E-RUN-FORMAT"))
            assert not target.exists() or not list(target.iterdir())
        else:
            assert content(folder) == expected
