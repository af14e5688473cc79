"""Each fault in a workload graph is reported with its code, key and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.errors import UsageError
from hopmeter.scenario import Scenario, files
from hopmeter.scenario.graph import OF_FLOWS
from tests.coded import lacking

HEAD = 'title = "t"\nquestion = "q?"\n'
PARTICIPANTS = "[participant]\ncamera = {}\ndetector = {}\nmotor = {}\none = { threads = 1 }\n"
FLOWS = """[flow]
frames = { from = "camera", to = "detector", rate = 30 }
objects = { from = "detector", to = "motor", after = "frames" }
ask = { from = "motor", call = "detector", rate = 5 }
alone = { from = "one", to = "motor", rate = 1 }
"""
CLOSED = 'pace = "closed", returns'


def load(folder: Path, text: str) -> Scenario:
    path = folder / "s.toml"
    path.write_text(text)
    return files.load(path)[0]


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as refused:
        load(folder, text)
    return str(refused.value)


def check_fault(folder: Path, text: str, at: str, expected: str) -> None:
    """Check that the error names the number of the line that contains `at`."""
    said = refusal(folder, text)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if at in each)
    assert lacking(said, f"{expected} {folder}/s.toml:{line}:") == []


def test_a_graph_that_fits_has_no_fault(tmp_path: Path) -> None:
    path = '[path]\nreaction = { flows = ["frames", "objects"], deadline = "50ms" }\n'
    scenario = load(tmp_path, HEAD + PARTICIPANTS + FLOWS + path)
    assert list(scenario.flow) == ["frames", "objects", "ask", "alone"]


@pytest.mark.parametrize(
    ("flow", "expected"),
    [
        ('from = "camera", to = "motr", rate = 1', 'E-VALUE-CHOICE flow.new.to: "motr" "motor"'),
        ('from = "camra", to = "motor", rate = 1', 'E-VALUE-CHOICE flow.new.from: "camra" "camera"'),
        ('from = "camera", call = ["motor", "x"], rate = 1', 'E-VALUE-CHOICE flow.new.call: "x"'),
        ('from = "camera", to = [], rate = 1', "E-VALUE-RANGE flow.new.to 1"),
        ('from = "camera", rate = 1', "E-VALUES-CONFLICT flow.new: `to` `call`"),
        ('from = "camera", to = "motor", call = "detector", rate = 1', "E-VALUES-CONFLICT flow.new: `to` `call`"),
        ('from = "camera", to = ["motor", "camera"], rate = 1', "E-VALUES-CONFLICT flow.new: `camera` itself"),
        ('from = "camera", to = ["motor", "motor"], rate = 1', "E-VALUES-CONFLICT flow.new: twice"),
        ('from = "camera", to = "motor"', "E-MISSING-KEY flow.new.rate after"),
        ('from = "camera", to = "motor", rate = 1, pace = "closed"', 'E-VALUE-CHOICE flow.new.pace: "closed" poisson'),
        ('from = "camera", to = "motor", rate = 1, pace = "max"', 'E-VALUE-CHOICE flow.new.pace: "max" poisson'),
        ('from = "camera", to = "motor", rate = 1, work = "spin:1ms"', "E-VALUES-CONFLICT flow.new.work: clock"),
        ('from = "camera", to = "motor", rate = 1, every = 2', "E-VALUES-CONFLICT flow.new: `every` `after`"),
        ('from = "camera", to = "motor", rate = 1, join = "all"', "E-VALUES-CONFLICT flow.new: `join` `after`"),
        ('from = "camera", to = "motor", rate = 0', "E-VALUE-RANGE flow.new.rate 0"),
        ('from = "camera", to = "motor", rate = 1, latest = "frames"', "E-VALUES-CONFLICT flow.new.latest `camera`"),
        ('from = "camera", to = "motor", rate = 1, latest = "frame"', 'E-VALUE-CHOICE flow.new.latest: "frames"'),
        ('from = "camera", to = "motor", after = "frames"', "E-VALUES-CONFLICT flow.new.after: `frames` detector"),
        ('from = "detector", to = "motor", after = "fram"', 'E-VALUE-CHOICE flow.new.after: "fram" "frames"'),
        ('from = "detector", to = "motor", after = "frames", rate = 1', "E-VALUES-CONFLICT flow.new.rate: clock"),
        ('from = "detector", to = "motor", after = "frames", pace = "poisson"', "E-VALUES-CONFLICT flow.new.pace:"),
        ('from = "detector", to = "motor", after = "frames", latest = "ask"', "E-VALUES-CONFLICT flow.new.latest:"),
        ('from = "detector", to = "motor", after = []', "E-VALUE-RANGE flow.new.after 1"),
        ('from = "detector", call = "motor", during = "frames"', "E-VALUES-CONFLICT flow.new.during: `frames` call"),
        ('from = "detector", to = "motor", during = "ask"', "E-VALUES-CONFLICT flow.new.during: `after`"),
        ('from = "detector", call = "motor", during = "ask", after = "frames"', "E-VALUES-CONFLICT `after` `during`"),
        ('from = "detector", call = ["motor", "camera"], after = "frames"', "E-VALUES-CONFLICT flow.new.call: one"),
        ('from = "camera", call = "motor", rate = 1, receiver_work = "spin:1ms"', "E-VALUES-CONFLICT .receiver_work:"),
        ('from = "detector", to = "motor", after = "frames", repeat = 0', "E-VALUE-RANGE flow.new.repeat 0 1"),
        ('from = "detector", to = "motor", after = "frames", repeat = 10001', "E-VALUE-RANGE .repeat 10001 10000"),
        ('from = "camera", to = "motor", rate = 1, repeat = 2', "E-VALUES-CONFLICT flow.new.repeat: `after`"),
        ('from = "camera", call = "motor", rate = 1, concurrency = 65', "E-VALUE-RANGE flow.new.concurrency 65 64"),
        ('from = "camera", call = "motor", rate = 1, concurrency = 0', "E-VALUE-RANGE flow.new.concurrency 0 1"),
        ('from = "camera", to = "motor", rate = 1, concurrency = 2', "E-VALUES-CONFLICT flow.new.concurrency: one"),
        ('from = "camera", call = ["motor", "detector"], rate = 1, concurrency = 2', "E-VALUES-CONFLICT .concurrency:"),
        ('from = "detector", call = "motor", during = "ask", concurrency = 2', "E-VALUES-CONFLICT .concurrency: clock"),
        (
            'from = "one", call = "motor", rate = 1, concurrency = 2',
            "E-VALUES-CONFLICT .concurrency: `one` 1 2 `threads`",
        ),
        ('from = "camera", to = "motor", pace = "closed"', 'E-VALUE-CHOICE flow.new.pace: "closed" `returns`'),
        ('from = "camera", to = "motor", rate = 1, returns = "objects"', "E-VALUES-CONFLICT flow.new.rate: `returns`"),
        ('from = "motor", to = "camera", returns = "objects"', 'E-VALUES-CONFLICT flow.new.returns: "closed"'),
        (f'from = "motor", call = "camera", {CLOSED} = "objects"', "E-VALUES-CONFLICT flow.new.returns: `to`"),
        (f'from = "motor", to = "camera", {CLOSED} = "object"', 'E-VALUE-CHOICE flow.new.returns: "object" "objects"'),
        (f'from = "camera", to = "motor", {CLOSED} = "objects"', "E-VALUES-CONFLICT flow.new.returns: `camera` motor"),
        (f'from = "motor", to = "camera", {CLOSED} = "objects"', 'E-VALUES-CONFLICT .returns: after = "objects"'),
        (f'from = "motor", to = "camera", after = "objects", {CLOSED} = "objects"', "E-VALUES-CONFLICT flow.new.pace:"),
        ('from = "camera", to = "motor", rate = 1, lossy = true', 'E-UNKNOWN-KEY "lossy" flow.new'),
        ('from = "camera", to = "motor", rate = 1, codec = "nunpy"', 'E-VALUE-CHOICE flow.new.codec: "nunpy" "numpy"'),
        ('from = "camera", to = "motor", rate = 1, device = "tpu"', 'E-VALUE-CHOICE flow.new.device: "tpu" gpu'),
        ('from = "camera", to = "motor", rate = 1, share = "ipc"', 'E-VALUE-CHOICE flow.new.share: "ipc" cuda-ipc'),
        (
            'from = "camera", to = "motor", rate = 1, payload = "video:no.mp4"',
            "E-FILE-UNREADABLE flow.new.payload no.mp4",
        ),
        ('from = "A camera", to = "motor", rate = 1', 'E-VALUE-FORM flow.new.from: "A'),
        ('from = "camera", to = "motor", rate = 1, transport = "all"', 'E-VALUE-CHOICE flow.new.transport: "all" one'),
        ('from = "camera", to = "motor", rate = 1, settings = { a = 1 }', "E-VALUES-CONFLICT flow.new.settings: own"),
    ],
)
def test_a_flow_that_does_not_fit(tmp_path: Path, flow: str, expected: str) -> None:
    check_fault(tmp_path, f"{HEAD}{PARTICIPANTS}{FLOWS}new = {{ {flow} }}\n", "new = ", expected)


def test_a_flow_has_a_transport_and_settings_of_its_own(tmp_path: Path) -> None:
    own = FLOWS.replace("rate = 30 }", 'rate = 30, transport = "zeromq", settings = { hwm = 10, endpoint = "tcp" } }')
    scenario = load(tmp_path, f"transport = 'nng'\n{HEAD}{PARTICIPANTS}{own}")
    frames = scenario.flow["frames"]
    assert (frames.transport, frames.settings) == ("zeromq", {"hwm": 10, "endpoint": "tcp"})
    assert scenario.flow["objects"].transport is None


def test_settings_of_a_flow_are_no_axis(tmp_path: Path) -> None:
    own = FLOWS.replace("rate = 30 }", 'rate = 30, transport = "zeromq", settings = { hwm = [10, 20] } }')
    assert lacking(refusal(tmp_path, HEAD + PARTICIPANTS + own), "E-VALUE-FORM flow.frames.settings.hwm") == []


def test_flows_that_cause_each_other_form_a_circle(tmp_path: Path) -> None:
    there = 'there = { from = "camera", to = "motor", after = "back" }\n'
    back = 'back = { from = "motor", to = "camera", after = "there" }\n'
    said = refusal(tmp_path, HEAD + PARTICIPANTS + FLOWS + there + back)
    assert lacking(said, "E-VALUES-CONFLICT .after: there → back cycle") == []
    assert any(f"s.toml:{line}: flow." in said for line in (13, 14))


def test_a_flow_may_return_as_another_flow_that_it_causes(tmp_path: Path) -> None:
    circle = """ping = { from = "camera", to = ["detector", "motor"], pace = "closed", returns = "pong" }
relayed = { from = "detector", to = "motor", after = "ping" }
pong = { from = "motor", to = "camera", after = "relayed", repeat = 2 }
"""
    assert load(tmp_path, HEAD + PARTICIPANTS + FLOWS + circle).flow["ping"].returns == "pong"


def test_two_flows_that_return_as_each_other_are_no_circle_with_a_start(tmp_path: Path) -> None:
    there = f'there = {{ from = "camera", to = "motor", {CLOSED} = "back" }}\n'
    back = f'back = {{ from = "motor", to = "camera", {CLOSED} = "there" }}\n'
    said = refusal(tmp_path, HEAD + PARTICIPANTS + FLOWS + there + back)
    assert lacking(said, 'E-VALUES-CONFLICT flow.there.returns: `back` after = "back"') == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ('p = { flows = ["frames", "ask"] }', "E-VALUES-CONFLICT path.p.flows: `ask` `frames` clock"),
        ('p = { flows = ["ask", "objects"] }', "E-VALUES-CONFLICT path.p.flows: `objects` `ask` `frames`"),
        ('p = { flows = ["frames", "object"] }', 'E-VALUE-CHOICE path.p.flows: "object" "objects"'),
        ('p = { flows = ["frames"] }', "E-VALUE-RANGE path.p.flows 2"),
        ('frames = { flows = ["frames", "objects"] }', "E-VALUES-CONFLICT path.frames: flow"),
        ('"P 1" = { flows = ["frames", "objects"] }', 'E-VALUE-FORM path.P "P'),
    ],
)
def test_a_path_that_does_not_fit(tmp_path: Path, path: str, expected: str) -> None:
    check_fault(tmp_path, f"{HEAD}{PARTICIPANTS}{FLOWS}[path]\n{path}\n", path, expected)


VALUES = {"rate": "1", "relays": "1", "sinks": "1", "pairs": "1", "burst": "1", "messages": "1", "warmup": "1"}
VALUES |= {"ramp_to": "1"}
WORDS = {"pattern": "pubsub", "placement": "process", "touch": "none", "device": "cpu", "pace": "open"}
WORDS |= {
    "payload": "bytes:1",
    "codec": "none",
    "share": "none",
    "work": "none",
    "dispatch": "parallel",
    "begin": "linked",
    "restart": "none",
    "pause": "1s",
}


@pytest.mark.parametrize("key", OF_FLOWS)
def test_a_key_of_flows_is_refused_at_the_top_level(tmp_path: Path, key: str) -> None:
    line = f"{key} = {VALUES.get(key) or repr(WORDS[key])}\n"
    check_fault(tmp_path, HEAD + line + PARTICIPANTS + FLOWS, line.strip(), f"E-VALUES-CONFLICT {key}: flow.NAME.{key}")


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        (PARTICIPANTS + FLOWS + "[[case]]\nwait = 'spin'\n", "[[case]]", "E-VALUES-CONFLICT case: none"),
        (PARTICIPANTS + FLOWS + "[search]\nbound_p99 = '5ms'\n", "[search]", "E-VALUES-CONFLICT search"),
        ("language = 'each'\n" + PARTICIPANTS + FLOWS, "language", "E-VALUE-CHOICE language each rust"),
        ("wait = 'block+spin'\n" + PARTICIPANTS + FLOWS, "wait", "E-VALUE-CHOICE wait block+spin callback"),
        (PARTICIPANTS + "[flow]\n", "[flow]", "E-MISSING-KEY [flow]"),
        ("[participant]\n" + FLOWS, "[participant]", "E-MISSING-KEY [participant]"),
        (PARTICIPANTS + "idle = {}\n" + FLOWS, "idle", "E-VALUES-CONFLICT participant.idle: flow"),
        (PARTICIPANTS + '"a.b" = {}\n' + FLOWS, '"a.b"', 'E-VALUE-FORM "a.b" participant'),
        (PARTICIPANTS + FLOWS + '"x/y" = { from = "camera", to = "motor", rate = 1 }', "x/y", 'E-VALUE-FORM "x/y"'),
        (
            f"transport = 'zeromq'\n{PARTICIPANTS}" + FLOWS.replace(" }", ", transport = 'nng' }"),
            "transport = 'zeromq'",
            "E-VALUES-CONFLICT transport: own",
        ),
        (PARTICIPANTS + "slow = { threads = 0 }\n" + FLOWS, "slow", "E-VALUE-RANGE participant.slow.threads 0 1"),
        (PARTICIPANTS + "slow = { fifo = 100 }\n" + FLOWS, "slow", "E-VALUE-RANGE participant.slow.fifo 100 99"),
        ("alone = true\n" + PARTICIPANTS + FLOWS, "alone", "E-VALUES-CONFLICT alone: deadline"),
        ("rate = 1\n[participant]\n", "[participant]", "E-MISSING-KEY participant: empty"),
        ("[flow]\n[participant]\n[path]\n", "[participant]", "E-MISSING-KEY participant: empty"),
        ("[path]\n", "[path]", "E-MISSING-KEY path: empty"),
    ],
)
def test_tables_that_do_not_fit(tmp_path: Path, text: str, at: str, expected: str) -> None:
    check_fault(tmp_path, HEAD + text, at, expected)


CHAIN = """[participant]
camera = {}
detector = {}
[flow]
frames = { from = "camera", to = "detector", pace = "closed", returns = "back" }
back = { from = "detector", to = "camera", after = "frames", deadline = "5ms" }
"""
OTHER = 'other = { from = "camera", to = "detector", rate = 1 }\n'


def test_a_flow_with_a_deadline_is_measured_alone_if_it_has_company(tmp_path: Path) -> None:
    head = HEAD + "alone = true\n"
    assert load(tmp_path, head + CHAIN + OTHER).alone
    check_fault(tmp_path, head + CHAIN, "alone", "E-VALUES-CONFLICT alone: `back`")


def test_an_ordinary_scenario_has_no_flows_to_measure_alone(tmp_path: Path) -> None:
    check_fault(tmp_path, HEAD + "alone = true\nrate = 1\n", "alone", "E-VALUES-CONFLICT alone: workload")


def test_a_path_alone_is_no_workload(tmp_path: Path) -> None:
    said = refusal(tmp_path, HEAD + '[path]\np = { flows = ["frames", "objects"] }\n')
    assert lacking(said, "E-MISSING-KEY [participant]") == []
