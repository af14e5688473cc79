"""Declare each condition of a cell once: its type, default value, allowed values, scope and wording.

To add a condition, add a field to `Conditions` and a column to `columns.toml`. If the condition applies to each flow of
a workload, also add a field to `model.workload.Flow`. The order of the fields determines the ids of tables, so append
new fields at the end.
"""

# This module does not postpone the evaluation of annotations, because the annotations contain the declarations.

from dataclasses import dataclass
from typing import Annotated

from hopmeter.model.condition import Condition, conditions_of
from hopmeter.model.paces import CHOICES, PACES, PaceName

LEAST_HZ, MOST_HZ = 1e-3, 1e9
"""The lowest and the highest allowed rate in Hz. A rate outside this range is probably a typing error."""
LEAST_FLOW_HZ = 1e-6
"""The lowest rate of a flow, about one message in eleven days. The limit is this low because some flows of a workload
are rare."""
MOST_MESSAGES = 1_000_000_000
"""The maximum number of messages in a trial. The samples of more messages would fill any disk."""
MOST_ENDPOINTS = 1000
LINKED, AT_ONCE = "linked", "at-once"
"""The values of the condition `begin`."""
NOTHING, BROKER, SINK = "none", "broker", "sink"
"""The values of the condition `restart`."""
UNSCHEDULED = " and ".join(name for name, pace in PACES.items() if not pace.is_scheduled)


@dataclass(frozen=True)
class Conditions:
    """The conditions of a cell. A scenario may give several values for each condition.

    The value of `language` is `source>relay>sink`, or one word if all roles use the same language.
    """

    transport: Annotated[
        str,
        Condition(
            option="Transport names, all, or direct (all without a broker).",
            meaning='Names of transports, "all", or "direct": the usual transports without a broker.',
            default="all",
            scope="run",
            separates_tables=False,
        ),
    ]
    language: Annotated[
        str,
        Condition(
            option="rust, c++, python, source>sink such as rust>python, one (hopmeter chooses), each, pairs (each with "
            "each).",
            meaning='"one" (the language with the least overhead that is ready and offers the cell), "each", '
            '"pairs" (every ordered pair), a language, or source>sink.',
            default="one",
            form="language",
            scope="run",
            separates_tables=False,
        ),
    ]
    pattern: Annotated[
        str,
        Condition(
            option="pubsub, rpc, scatter.",
            meaning="How endpoints communicate.",
            default="pubsub",
            choices=("pubsub", "rpc", "scatter"),
            scope="graph",
            title="{value}",
            phrases={"pubsub": "as messages", "rpc": "as calls", "scatter": "as calls to several servers"},
        ),
    ]
    placement: Annotated[
        str,
        Condition(
            option="thread, process, or apart (processes if the transport supports them).",
            meaning='One process, one process each, or "apart": processes if the transport can, otherwise threads.',
            default="process",
            choices=("thread", "process", "apart"),
            scope="graph",
            titles={"thread": "threads of one process", "process": "one process each"},
            title="{value}",
            phrases={
                "thread": "within one process",
                "process": "between processes",
                "apart": "between processes where possible",
            },
        ),
    ]
    wait: Annotated[
        str,
        Condition(
            option="spin, block, callback, or asyncio (callback in Python); callback+block sets the wait of each sink.",
            meaning="How a receiver waits; `callback+block` gives one wait for each sink, in order.",
            default="block",
            form="wait",
            scope="run",
        ),
    ]
    cores: Annotated[
        str,
        Condition(
            option="same, cross, sibling, free, numa, or one list such as 0,1.",
            meaning="The cores that endpoints are pinned to.",
            default="cross",
            form="cores",
            scope="run",
            titles={
                "same": "one core",
                "cross": "across cores",
                "sibling": "sibling threads of one core",
                "free": "not pinned",
            },
            phrases={
                "same": "on one core",
                "cross": "across cores",
                "sibling": "on sibling threads of one core",
                "free": "without pinning",
                "numa": "across NUMA nodes",
            },
            phrase="on cores {value}",
        ),
    ]
    payload: Annotated[
        str,
        Condition(
            option="timing, bytes:N, image:WxH, file:PATH, video:PATH; with a codec array:WxH, message:FILE:TYPE.",
            meaning="The content of a message after the 64-byte header.",
            default="timing",
            form="payload",
            leads_title=True,
        ),
    ]
    touch: Annotated[
        str,
        Condition(
            option="What source and sink do with the payload: none, write, write+read.",
            meaning="What source and sink do with the payload.",
            flow_meaning="What sender and receivers do with the payload; with a codec, they encode and decode it.",
            default="write",
            choices=("none", "write", "write+read"),
            phrases={
                "none": "without touching the payload",
                "write": "writing the payload",
                "write+read": "writing and reading the payload",
            },
        ),
    ]
    codec: Annotated[
        str,
        Condition(
            option="none; in Python numpy, torch, pickle-in-band …; protobuf, flatbuffers or cdr for messages of a "
            "schema.",
            meaning="The codec that converts objects to frames and back: none; in Python a framework "
            "(`hopmeter.codecs.frameworks()`), or one for comparison (`hopmeter.codecs.comparison_codecs()`); for "
            "messages of your own schema protobuf, flatbuffers or cdr (ROS 2).",
            flow_meaning="The codec that converts objects to frames and back, in Python; none: the payload is bytes.",
            default="none",
            form="codec",
        ),
    ] = "none"
    device: Annotated[
        str,
        Condition(
            option="cpu, gpu: the device of a codec's object.",
            meaning="The device that stores the object of a codec.",
            default="cpu",
            choices=("cpu", "gpu"),
            phrases={"cpu": "on the CPU", "gpu": "on the GPU"},
            asks_default=False,
        ),
    ] = "cpu"
    share: Annotated[
        str,
        Condition(
            option="none: copy GPU memory through the host; cuda-ipc: pass a handle.",
            meaning="none: copy a GPU's object to the host and back; cuda-ipc: pass a CUDA handle of its memory.",
            default="none",
            choices=("none", "cuda-ipc"),
            phrases={"none": "copied through the host", "cuda-ipc": "shared by CUDA IPC"},
            asks_default=False,
        ),
    ] = "none"
    pace: Annotated[
        PaceName,
        Condition(
            option=f"{', '.join(CHOICES)}.",
            meaning="How the source paces its messages.",
            flow_meaning="How a flow with a clock paces its messages.",
            default="open",
            choices=CHOICES,
            leads_title=True,
            phrases={name: pace.question for name, pace in PACES.items()},
            asks_default=False,
        ),
    ] = "open"
    rate_hz: Annotated[
        float | None,
        Condition(
            option="Messages per second.",
            meaning=f"Messages per second; {UNSCHEDULED} have no rate.",
            flow_meaning="Messages per second, of a flow with a clock.",
            default=1000.0,
            flow_default=None,
            type=float,
            least=LEAST_HZ,
            flow_least=LEAST_FLOW_HZ,
            most=MOST_HZ,
            unit="hz",
            leads_title=True,
        ),
    ] = None
    relays: Annotated[
        int,
        Condition(
            option="Relays between source and sink.",
            meaning="Relays between source and sink.",
            default=0,
            type=int,
            least=0,
            most=MOST_ENDPOINTS,
            scope="graph",
            leads_title=True,
            noun="relay",
        ),
    ] = 0
    sinks: Annotated[
        int,
        Condition(
            option="Sinks of the last hop; servers in scatter.",
            meaning="Number of receivers of the last hop; in scatter, number of servers.",
            default=1,
            type=int,
            least=1,
            most=MOST_ENDPOINTS,
            scope="graph",
            leads_title=True,
            noun="sink",
        ),
    ] = 1
    pairs: Annotated[
        int,
        Condition(
            option="The number of pairs that run at the same time.",
            meaning="Number of independent pairs of source and sink that run at once.",
            default=1,
            type=int,
            least=1,
            most=MOST_ENDPOINTS,
            scope="graph",
            leads_title=True,
            noun="pair",
        ),
    ] = 1
    work: Annotated[
        str,
        Condition(
            option="Work of a relay or server per message: none, sleep:T, spin:T, copy:N, sleep:T/T/T.",
            meaning="The work of a relay or server for each message, or of a sink if there is no relay; servers of a "
            "scatter and sinks may each have their own work, separated by /, such as sleep:1ms/2ms or "
            "sleep:1ms/spin:2ms.",
            flow_meaning="The work before a message of `after`, or of the server for each call.",
            default="none",
            form="work",
        ),
    ] = "none"
    dispatch: Annotated[
        str,
        Condition(
            option="How a scatter calls its servers: parallel, sequential.",
            meaning="How a scatter calls its servers: all at once, or each after the reply of the previous one.",
            flow_meaning="How a call to several participants calls them.",
            default="parallel",
            choices=("parallel", "sequential"),
            titles={"sequential": "requests one after the other"},
            phrases={"parallel": "at once", "sequential": "one after the other"},
            sentence="with servers called {values}",
            asks_default=False,
        ),
    ] = "parallel"
    burst: Annotated[
        int,
        Condition(
            option="Messages per burst.",
            meaning="Messages per burst; the rate of bursts is rate / burst.",
            default=1,
            type=int,
            least=1,
            most=MOST_MESSAGES,
            phrase="{value}",
            sentence="in bursts of {values}",
            asks_default=False,
        ),
    ] = 1
    heap: Annotated[
        str,
        Condition(
            option="retain: nodes retain freed memory for the next message; libc: the C library decides.",
            meaning="Whether nodes retain freed memory for the next message, or the C library decides.",
            default="retain",
            choices=("retain", "libc"),
            scope="run",
            titles={"libc": "freed memory left to the C library"},
            phrases={"retain": "with freed memory retained", "libc": "with freed memory left to the C library"},
            asks_default=False,
        ),
    ] = "retain"
    ramp_to_hz: Annotated[
        float | None,
        Condition(
            option="Messages per second at the end of a trial with the pace ramp.",
            meaning="Messages per second at the end of each trial with the pace `ramp`, which begins with `rate`.",
            default=None,
            type=float,
            least=LEAST_HZ,
            flow_least=LEAST_FLOW_HZ,
            most=MOST_HZ,
            unit="hz",
            in_first_ids=False,
            leads_title=True,
            phrase="{value}",
            sentence="with a ramp to {values} Hz",
        ),
    ] = None
    begin: Annotated[
        str,
        Condition(
            option="When the source sends its first message: linked (after tests of all links) or at-once.",
            meaning="When the source sends its first message: `linked`, after probes have arrived on every link; "
            "`at-once`, as soon as the source's own end is open, which measures the time to the first message.",
            default=LINKED,
            choices=(LINKED, AT_ONCE),
            scope="graph",
            in_first_ids=False,
            titles={AT_ONCE: "sending at once"},
            phrases={LINKED: "after tests of all links", AT_ONCE: "from the start of the programs"},
            asks_default=False,
        ),
    ] = LINKED
    restart: Annotated[
        str,
        Condition(
            option="What hopmeter kills and restarts in the middle of each trial: none, broker or sink.",
            meaning="What hopmeter kills and restarts in the middle of each trial: none, the transport's broker, or "
            "the first sink. A trial with a restart measures the time from the start of the new process to the next "
            "message.",
            default=NOTHING,
            choices=(NOTHING, BROKER, SINK),
            scope="graph",
            in_first_ids=False,
            titles={NOTHING: "no restart", BROKER: "restart of the broker", SINK: "restart of the sink"},
            phrases={
                NOTHING: "without a restart",
                BROKER: "with a restart of the broker",
                SINK: "with a restart of the sink",
            },
            asks_default=False,
        ),
    ] = NOTHING
    pause: Annotated[
        str,
        Condition(
            option="How long the process that `restart` kills stays down, such as 1s.",
            meaning="How long the process that `restart` kills stays down before hopmeter starts it again.",
            default="1s",
            form="pause",
            scope="graph",
            in_first_ids=False,
            phrase="{value}",
            sentence="after a pause of {values}",
            asks_default=False,
        ),
    ] = "1s"


CONDITIONS = conditions_of(Conditions)
"""All conditions that a scenario may vary, in field order."""
