"""Tests for framework installation: the reported size, and the environment into which a framework is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hopmeter import manifest
from hopmeter.build import frameworks
from hopmeter.build.command import BuildError
from hopmeter.cli.parts.application import app, register_all
from hopmeter.codecs import lookup
from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Offer, codec_interpreter, interpreter
from tests.plan.capabilities import transport


@pytest.fixture
def environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (interpreter, frameworks):
        monkeypatch.setattr(module, "folder", lambda name: tmp_path / "environments" / name)
    return tmp_path / "environments"


@pytest.fixture
def instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Install an empty package from a local folder instead of MXNet."""
    source = tmp_path / "source"
    for name in ("mxnet", "numpy"):
        (source / name).mkdir(parents=True)
        (source / name / "__init__.py").touch()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "mxnet"\nversion = "7.0"\n'
    )
    (source / "backend.py").write_text(BACKEND)
    monkeypatch.setattr(lookup.codecs()["mxnet"], "APART", (str(source),))
    return str(source)


BACKEND = """
import zipfile
def build_wheel(folder, *_):
    name = "mxnet-7.0-py3-none-any.whl"
    with zipfile.ZipFile(folder + "/" + name, "w") as packed:
        for path in ("mxnet/__init__.py", "numpy/__init__.py"):
            packed.writestr(path, "")
        about = "mxnet-7.0.dist-info/"
        packed.writestr(about + "METADATA", "Metadata-Version: 2.1\\nName: mxnet\\nVersion: 7.0\\n")
        packed.writestr(about + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        packed.writestr(about + "RECORD", "")
    return name
"""


def shm() -> Manifest:
    return manifest.find_transports(["shm"])["shm"]


def offer() -> Offer:
    return shm().offers["python"]


def test_a_framework_that_is_apart_is_installed_where_its_nodes_are_started(
    environments: Path, instead: str, tmp_path: Path
) -> None:
    assert codec_interpreter.interpreter("mxnet", offer()) is None
    frameworks.install("mxnet", tmp_path / "logs/log")
    found = codec_interpreter.interpreter("mxnet", offer())
    assert found is not None
    assert found.program == environments / "codec-mxnet/bin/python"


def test_a_framework_that_is_apart_is_installed_beside_a_transports_packages(
    environments: Path, instead: str, tmp_path: Path
) -> None:
    languages = {"python": {"waits": ["block"], "library": "L", "pip": [instead]}}
    apart = transport("apart", languages=languages)
    frameworks.install("mxnet", tmp_path / "log", apart)
    assert (environments / "codec-mxnet-apart/bin/python").exists()
    assert codec_interpreter.interpreter("mxnet", apart.offers["python"]) is not None


def test_what_cannot_be_installed_says_what_to_run_again(environments: Path, instead: str, tmp_path: Path) -> None:
    Path(instead, "backend.py").write_text("raise SystemExit('broken')")
    with pytest.raises(BuildError) as told:
        frameworks.install("mxnet", tmp_path / "log", shm())
    assert told.value.code == "E-COMMAND-FAILED"
    assert told.value.remedy == "correct the cause, then run `hopmeter build shm --framework mxnet`"
    assert "broken" in told.value.detail


def test_sizes_are_told_before_anything_is_downloaded() -> None:
    assert frameworks.format_cost("torch") == "torch: 2.9 GB to download, 4 min at 100 Mbit/s; 5.3 GB on disk"
    assert frameworks.format_cost("mxnet") == "mxnet: 64 MB to download, 5 s at 100 Mbit/s; 250 MB on disk"
    for name in codec_interpreter.frameworks():
        assert name in frameworks.format_cost(name)


def test_all_is_every_framework_that_needs_no_gpu() -> None:
    found = frameworks.select(["all"])
    assert {"torch", "mxnet", "pandas1", "pillow"} <= set(found)
    assert not {"cupy", "numpy", "plain"} & set(found)
    assert frameworks.select(["jax", "all"])[0] == "jax"
    with pytest.raises(UsageError, match=r'"jaxx".*"jax".*E-UNKNOWN-FRAMEWORK'):
        frameworks.select(["jaxx"])


def test_every_codec_is_listed_with_its_version_or_the_command_that_gets_it(environments: Path) -> None:
    register_all()
    said = CliRunner().invoke(app, ["codecs", "--json"])
    states = {row["codec"]: row for row in map(json.loads, said.stdout.splitlines())}
    assert set(lookup.codecs()) < set(states)
    assert states["numpy"]["ready"]
    assert states["numpy"]["version"]
    assert states["mxnet"] == {
        "codec": "mxnet",
        "ready": False,
        "version": None,
        "environment": "codec-mxnet",
        "missing": "the framework is not installed",
        "get": "hopmeter build --framework mxnet",
    }


def test_what_decodes_videos_is_got_in_the_same_way_although_no_codec_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(frameworks, "install_packages", lambda *words: asked.append(words[:2]))
    assert frameworks.select(["video"]) == ["video"]
    assert frameworks.format_cost("video") == "video: 34 MB to download, 3 s at 100 Mbit/s; 104 MB on disk"
    assert frameworks.wanting("video", manifest.every().values()) == []
    frameworks.install("video", tmp_path / "log")
    assert asked == [(interpreter.ours().program, codec_interpreter.extra("video"))]
    assert codec_interpreter.extra("video")[0].startswith("av>=")
