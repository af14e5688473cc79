"""The transports page agrees with the manifests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hopmeter.manifest import every, matrix
from hopmeter.system import markdown

ROOT = Path(__file__).parents[2]


def test_the_page_of_transports_is_up_to_date() -> None:
    command = [sys.executable, "-m", "hopmeter.manifest.matrix"]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    remedy = "run `python -m hopmeter.manifest.matrix > docs/transports.md`"
    assert (ROOT / "docs/transports.md").read_text() == printed, remedy


def test_the_page_tells_which_languages_have_no_adapter() -> None:
    rows = {manifest.name: matrix.summary_row(manifest)[1:5] for manifest in every().values()}
    assert rows["zeromq"] == ["yes", "yes", "yes", "–"]
    assert rows["zenoh"] == ["yes", "yes", "yes", "–"]
    assert rows["nats"] == ["yes", "yes", "yes", "nats-server"]


def test_the_page_tells_which_transports_encrypt() -> None:
    rows = {manifest.name: matrix.summary_row(manifest)[6] for manifest in every().values()}
    assert (rows["zeromq"], rows["redis"], rows["tcp"]) == ("`curve`", "`tls` (rust, python)", "–")


def test_the_page_tells_what_an_adapter_offers_and_who_installs_it() -> None:
    found = every()
    adapters = {
        (name, offer.language): matrix.offer_row(found[name], offer)
        for name in found
        for offer in found[name].offers.values()
    }
    assert adapters["memory", "rust"][2:4] == ["yes", "duplex"]
    assert adapters["thrift", "python"][2:4] == ["–", "native"]
    assert adapters["zeromq", "c++"][-1] == "`hopmeter build`; apt: libzmq3-dev, cppzmq-dev"
    assert adapters["libxr", "c++"][-1] == "you: set `LIBXR_ROOT`"


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert markdown.table(["a"], [["b|c"]]) == "| a |\n| --- |\n| b\\|c |\n"
