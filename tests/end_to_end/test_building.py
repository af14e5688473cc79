"""`hopmeter run --build` builds the missing code of a message, and then measures the message."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hopmeter.schemas import missing_tools
from hopmeter.system import paths
from tests.command import Ran

pytestmark = pytest.mark.skipif(bool(missing_tools("protobuf", "python")), reason="protoc is not installed")
RUN = ("run", "own", "--no-report", "--json")


@pytest.fixture
def package(tmp_path: Path) -> Iterator[str]:
    """Write the scenario `own.toml` and the package of its message, and remove the built code afterwards."""
    name = f"never_built_{secrets.token_hex(4)}"
    schema = f'syntax = "proto3";\npackage {name};\nmessage Pose {{ double x = 1; }}\n'
    (tmp_path / "own.proto").write_text(schema)
    axes = {"transport": "unix", "language": "python", "codec": "protobuf", "wait": "block", "cores": "free"}
    table = {"title": "Own", "question": "Q?", "payload": f"message:own.proto:{name}.Pose", **axes}
    numbers = {"rate": 200, "messages": 20, "trials": 1}
    (tmp_path / "own.toml").write_text(
        "".join(f"{key} = {json.dumps(each)}\n" for key, each in (table | numbers).items())
    )
    yield name
    for folder in paths.codec_folder().glob(f"*{name}*"):
        shutil.rmtree(folder)


def rows(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_a_message_that_is_not_built_is_built_first(run_in: Callable[..., Ran], package: str) -> None:
    dry = run_in(*RUN[:3], "--dry-run")
    assert "D-MESSAGE-NOT-BUILT" in dry.stdout and "hopmeter build" not in dry.stdout
    assert dry.stdout.count("hopmeter run own --no-report --build") == 1
    refused = run_in(*RUN)
    assert refused.returncode != 0 and "run own --no-report --build" in refused.stderr
    ran = run_in(*RUN, "--build")
    assert ran.returncode == 0, ran.stderr
    assert f"building the code of own.proto:{package}.Pose (protobuf, python)" in ran.stderr
    (row,) = rows(ran)
    assert (row["status"], row["received"], row["decode_count"]) == ("ok", 20, 20)
    assert "building" not in run_in(*RUN, "--build").stderr, "nothing is built twice"


def test_a_message_that_cannot_be_built_drops_its_row_and_leaves_nothing(
    run_in: Callable[..., Ran], package: str, tmp_path: Path
) -> None:
    file = tmp_path / "own.proto"
    file.write_text(file.read_text().replace("Pose", "Position"))
    ran = run_in(*RUN, "--build")
    assert ran.returncode != 0 and "E-NO-CELLS" in ran.stderr
    assert [row["reason"].rpartition(" ")[2] for row in rows(ran)] == ["[D-BUILD-FAILED]"]
    assert not list(paths.codec_folder().glob(f"*{package}*")) + list(paths.codec_folder().glob(f".*{package}*"))
