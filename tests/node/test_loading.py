"""Tests for adapters with several files, and for several adapters in one process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hopmeter.node.contract import AdapterError
from hopmeter.node.loading import search_path, transport_class

ADAPTER = """
from {own} import WORD
from ..._shared.python.words import SHARED
class Transport:
    words = WORD, SHARED
"""


def write_transport(root: Path, name: str, own: str = ".ends") -> Path:
    folder = root / name / "python"
    folder.mkdir(parents=True)
    (folder / "adapter.py").write_text(ADAPTER.format(own=own))
    (folder / "ends.py").write_text(f"WORD = {name!r}")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shared = tmp_path / "_shared/python"
    shared.mkdir(parents=True)
    (shared / "words.py").write_text("SHARED = []")
    return tmp_path


def test_adapters_have_their_own_files_and_share_those_of_a_common_folder(root: Path) -> None:
    path, modules = list(sys.path), set(sys.modules)
    one, other = (transport_class(write_transport(root, name)) for name in ("one", "an-other"))
    assert (one.words[0], other.words[0]) == ("one", "an-other")
    assert one.words[1] is other.words[1]
    assert sys.path == path
    assert all(name.startswith("hopmeter_transports_") for name in set(sys.modules) - modules)


def test_transports_of_the_same_name_in_two_places_are_two(root: Path) -> None:
    places = [root / "here", root / "there"]
    for place in places:
        (place / "_shared/python").mkdir(parents=True)
        (place / "_shared/python/words.py").write_text(f"SHARED = {place.name!r}")
    assert [transport_class(write_transport(place, "one")).words[1] for place in places] == ["here", "there"]


def test_a_file_that_is_imported_as_if_it_were_a_library_is_named(root: Path) -> None:
    with pytest.raises(AdapterError) as refused:
        transport_class(write_transport(root, "one", own="ends"))
    assert "import it as `.ends`" in refused.value.remedy


def test_a_search_path_holds_for_the_block_alone(tmp_path: Path) -> None:
    before = list(sys.path)
    with search_path(tmp_path):
        assert sys.path == [*before, str(tmp_path)]
    with pytest.raises(ZeroDivisionError), search_path(tmp_path, first=True):
        assert sys.path == [str(tmp_path), *before]
        1 / 0  # noqa: B018
    assert sys.path == before
