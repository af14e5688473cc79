"""Defines the keys of a workload: its participants, the flows between them, and the paths that flows form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables.allowed_words import AskedWait
from hopmeter.scenario.condition_keys import add_flow_keys
from hopmeter.scenario.values import (
    Cores,
    Duration,
    OneLanguage,
    OneOrMore,
    Replay,
    Setting,
    Span,
    Work,
    as_list,
)

NAME = r"^[a-z][a-z0-9_-]{0,30}$"


def _check_name(name: str) -> str:
    if not re.match(NAME, name):
        raise RefusedValueError(
            "E-VALUE-FORM",
            f'"{name}" is not a valid name; use at most 31 characters of a-z, 0-9, _ and -, and begin with a letter',
        )
    return name


Name = Annotated[str, AfterValidator(_check_name), Field(json_schema_extra={"pattern": NAME})]
Names = Annotated[list[Name], as_list, Field(min_length=1), OneOrMore]
MOST_AT_ONCE = 64
MOST_REPEATED = 10_000
LEAST_SPEED, MOST_SPEED = 0.001, 1000.0


class Keys(BaseModel):
    """A model that rejects unknown keys and non-finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Participant(Keys):
    """A program: one process, in which several flows may start and end."""

    host: Name | None = Field(
        None,
        description="The host of the participant: a name in the `--hosts` file, or a worker of `--cluster`.",
    )
    language: OneLanguage | None = Field(
        None, description="The participant's language: rust, c++ or python; by default the scenario's language."
    )
    wait: AskedWait | None = Field(
        None, description="How the participant waits for messages; by default the scenario's `wait`."
    )
    cores: Cores | None = Field(
        None, description="The cores of the participant's threads; by default the scenario's `cores`."
    )
    fifo: Annotated[int, Field(ge=0, le=99)] | None = Field(
        None, description="The SCHED_FIFO priority (0 selects the normal scheduler); by default the scenario's `fifo`."
    )
    threads: Literal["per-flow"] | Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = Field(
        "per-flow",
        description="How many messages the participant handles at once: one for each of its flows, or a fixed number.",
    )


if TYPE_CHECKING:

    class FlowConditions(Keys):
        """A key for each condition that belongs to a single flow."""

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

else:
    FlowConditions = add_flow_keys("FlowConditions", Keys)


class Flow(FlowConditions):
    """A stream of messages or calls."""

    sender: Name = Field(alias="from", description="The participant that sends or calls.")
    to: Names | None = Field(None, description="The participants that receive each message.")
    call: Names | None = Field(None, description="The participants that the sender calls, instead of `to`.")
    replay: Replay | None = Field(
        None,
        description="A recording and one of its topics: messages have the times, sizes and bytes of the recording.",
    )
    speed: Annotated[float, Field(ge=LEAST_SPEED, le=MOST_SPEED)] = Field(
        1.0, description="The speed of the replay, as a multiple of the recorded speed."
    )
    loop: bool = Field(False, description="Repeat the recording; without `loop`, the flow ends with the recording.")
    after: Names | None = Field(None, description="The flows whose arrival at `from` causes a message of this flow.")
    join: Literal["any", "all"] = Field(
        "any",
        description="With several flows in `after`: a message for each arrival (any), or for one of every flow (all).",
    )
    every: Annotated[int, Field(ge=1)] = Field(1, description="Only every n-th arrival causes a message.")
    repeat: Annotated[int, Field(ge=1, le=MOST_REPEATED)] = Field(
        1,
        description="How many messages each triggering arrival causes in sequence, with the work before each message.",
    )
    latest: Name | None = Field(
        None, description="A flow with a clock bases each message on the newest message of this flow."
    )
    during: Name | None = Field(None, description="The call during which `from` makes this call.")
    concurrency: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = Field(
        1, description="The maximum number of concurrent calls; a call that is due beyond this number waits."
    )
    returns: Name | None = Field(
        None,
        description='With pace = "closed": the next message is sent when a message of this flow has arrived at `from`.',
    )
    receiver_work: Work = Field("none", description="The work of each receiver for each message.")
    deadline: Duration | None = Field(None, description="The maximum time from when a message is due until it arrives.")
    transport: str | None = Field(
        None, description="The transport of only this flow; by default the scenario's transport, which may be an axis."
    )
    settings: dict[str, Setting] = Field({}, description="Settings of the flow's own transport, from its manifest.")


class Path(Keys):
    """Flows whose messages cause each other, in order."""

    flows: Annotated[list[Name], Field(min_length=2)] = Field(
        description="The flows in order; the flow before it causes the messages of each flow."
    )
    deadline: Span | None = Field(
        None, description="The maximum time from a message of the first flow to its effect in the last flow."
    )
