"""hopmeter chooses a Python that has the packages of both the transport and the codec."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hopmeter import manifest
from hopmeter.codecs import frameworks, lookup
from hopmeter.manifest import Offer, codec_interpreter, interpreter, readiness
from hopmeter.system import paths


def offer(transport: str = "apart", **part: Any) -> Offer:
    like = manifest.find_transports(["shm"])["shm"].offers["python"]
    return like.model_copy(update={"transport": transport, "environment_name": transport, **part})


def lay(environment: str, *packages: str) -> Path:
    folder = interpreter.folder(environment)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(sys.executable)
    for package in packages:
        (folder / f"lib/python3.11/site-packages/{package}").mkdir(parents=True)
        (folder / f"lib/python3.11/site-packages/{package}/__init__.py").touch()
    return folder / "bin/python"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "folder", lambda name: tmp_path / "environments" / name)
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))


def test_what_goes_with_hopmeter_runs_beside_it() -> None:
    found = codec_interpreter.interpreter("numpy", offer())
    assert found is not None
    assert str(found.program) == sys.executable
    assert codec_interpreter.joint_environment("numpy", offer()) is None


def test_what_conflicts_with_hopmeter_runs_in_an_environment_with_the_transports_packages() -> None:
    assert codec_interpreter.joint_environment("mxnet", offer()) == "codec-mxnet"
    assert codec_interpreter.joint_environment("mxnet", offer(pip=["pyzmq"])) == "codec-mxnet-apart"
    assert codec_interpreter.interpreter("mxnet", offer(pip=["pyzmq"])) is None
    program = lay("codec-mxnet-apart", "mxnet", "numpy")
    found = codec_interpreter.interpreter("mxnet", offer(pip=["pyzmq"]))
    assert found is not None
    assert found.program == program
    assert codec_interpreter.interpreter("mxnet", offer()) is None


def test_an_environment_without_the_framework_is_none() -> None:
    lay("codec-mxnet", "numpy")
    assert codec_interpreter.interpreter("mxnet", offer()) is None


def test_a_transport_that_is_apart_gets_an_environment_with_any_framework() -> None:
    assert codec_interpreter.joint_environment("numpy", offer(environment="own", pip=["x"])) == "codec-numpy-apart"
    assert "numpy>=2" in codec_interpreter.requirements("numpy")


def test_the_environment_of_a_transport_that_has_the_framework_is_enough() -> None:
    own = offer(environment="own", pip=["numpy"])
    lay("apart", "PIL")
    assert codec_interpreter.interpreter("numpy", own) is None
    for number, version in enumerate(("1.26.4", "2.3.0")):
        program = lay(f"apart-{number}", "numpy")
        about = program.parents[1] / f"lib/python3.11/site-packages/numpy-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: numpy\nVersion: {version}\n")
        found = codec_interpreter.interpreter("numpy", own.model_copy(update={"environment_name": f"apart-{number}"}))
        assert (found.program if found else None) == (program if version > "2" else None)


def test_the_systems_python_has_what_the_system_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    for name in ("numpy", "torch", "PIL"):
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").touch()
    found = interpreter.Interpreter(Path("/usr/bin/python3"), (packages,))
    monkeypatch.setattr(codec_interpreter, "system", lambda: found)
    monkeypatch.setattr(codec_interpreter, "system_with_ours", lambda: None)
    assert codec_interpreter.interpreter("torch", offer(interpreter="system")) is found
    for codec in ("mxnet", "jax"):
        with pytest.raises(interpreter.NoPythonError, match=f"apart .* {codec}"):
            codec_interpreter.interpreter(codec, offer(interpreter="system"))
    with pytest.raises(interpreter.NoPythonError, match=r"pyarrow.*pillow") as none:
        codec_interpreter.interpreter("pillow", offer(interpreter="system"))
    assert "pyarrow" in none.value.remedy
    ours = tmp_path / "ours"
    (ours / "pyarrow").mkdir(parents=True)
    (ours / "pyarrow/__init__.py").touch()
    joined = interpreter.Interpreter(found.program, (ours, packages), ours)
    monkeypatch.setattr(codec_interpreter, "system_with_ours", lambda: joined)
    assert codec_interpreter.interpreter("pillow", offer(interpreter="system")) is joined
    assert joined.command[-2:] == ["--borrow", str(ours)]
    assert codec_interpreter.interpreter("torch", offer(interpreter="system")) is found


def test_every_codec_says_what_it_needs_the_framework_first() -> None:
    for name in frameworks():
        first = codec_interpreter.requirements(name)[0]
        assert first, name
    assert codec_interpreter.requirements("polars")[0].startswith("polars")
    assert codec_interpreter.requirements("pandas")[0].startswith("pandas")
    assert codec_interpreter.requirements("mxnet") == list(lookup.codecs()["mxnet"].APART)
    assert codec_interpreter.requirements("msgpack") == ["msgpack>=1", "numpy>=2"]


def test_what_is_installed_needs_what_a_checkout_does(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=2", "jax>=0.4.31; extra == 'jax'", "torch>=2.5 ; extra == 'torch'"]
    monkeypatch.setattr(paths, "checkout", lambda: None)
    monkeypatch.setattr("importlib.metadata.requires", lambda _: lines)
    codec_interpreter._declared_requirements.cache_clear()
    try:
        assert codec_interpreter.requirements("jax") == ["jax>=0.4.31", "numpy>=2"]
    finally:
        codec_interpreter._declared_requirements.cache_clear()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("machine", "first"), [("x86_64", "tensorflow-cpu>=2.18"), ("aarch64", "tensorflow>=2.18")])
def test_each_processor_has_the_packages_that_are_for_it(
    monkeypatch: pytest.MonkeyPatch, whole: bool, machine: str, first: str
) -> None:
    lines = [
        "numpy>=2",
        "tensorflow-cpu>=2.18; platform_machine == 'x86_64' and extra == 'tensorflow'",
        "tensorflow>=2.18; platform_machine != 'x86_64' and extra == 'tensorflow'",
    ]
    if not whole:
        monkeypatch.setattr(paths, "checkout", lambda: None)
        monkeypatch.setattr("importlib.metadata.requires", lambda _: lines)
    monkeypatch.setattr("platform.machine", lambda: machine)
    codec_interpreter._declared_requirements.cache_clear()
    try:
        assert codec_interpreter.requirements("tensorflow") == [first, "numpy>=2"]
    finally:
        codec_interpreter._declared_requirements.cache_clear()


def test_a_node_starts_on_the_python_of_its_codec_and_is_described_by_it() -> None:
    shm = manifest.find_transports(["shm"])["shm"]
    absent = readiness(shm, "python", "mxnet")
    assert not absent.ready
    assert absent.get == "hopmeter build shm --framework mxnet"
    program = lay("codec-mxnet", "mxnet", "numpy")
    present = readiness(shm, "python", "mxnet")
    assert (present.missing, present.command[0]) == ("", str(program))
    assert present.about["language"] == "python"
    assert readiness(shm, "python").command[0] == sys.executable


def test_a_framework_beside_hopmeters_own_packages_is_got_by_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec_interpreter, "has", lambda *_: False)
    known = manifest.find_transports(["tcp", "ecal"])
    assert readiness(known["tcp"], "python", "torch").get == "hopmeter build --framework torch"
    assert readiness(known["tcp"], "python", "torch").code == "E-FRAMEWORK-MISSING"
    assert readiness(known["ecal"], "python", "torch").get == "hopmeter build ecal --framework torch"


def test_codecs_need_nothing_but_numpy() -> None:
    program = (
        "import sys; from hopmeter.codecs import decode, encode; import numpy as n; decode(encode([n.ones(2)]))\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'pydantic', 'pyarrow', 'typer', 'scipy'}))"
    )
    root = str(paths.PACKAGE.parent)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert done.stdout.strip() == "[]"
