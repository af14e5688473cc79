"""Defines the keys of a scenario.

Every condition accepts one value or a list, and hopmeter creates a cell for each value.
"""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)

from hopmeter.errors import RefusedValueError
from hopmeter.model import units
from hopmeter.model.condition_values import KEYS
from hopmeter.model.conditions import MOST_MESSAGES, UNSCHEDULED
from hopmeter.model.paces import MOST_UNSCHEDULED_MESSAGES
from hopmeter.scenario.background import Background
from hopmeter.scenario.condition_keys import add_axes
from hopmeter.scenario.graph import check_workload
from hopmeter.scenario.pace_parameters import idle_parameters, missing_parameters
from hopmeter.scenario.requirement import parse as parse_requirement
from hopmeter.scenario.search import Search
from hopmeter.scenario.values import (
    MOST_SEED,
    Axis,
    ColumnName,
    Count,
    Duration,
    Requirement,
    Setting,
    Span,
    Stretch,
    Until,
)
from hopmeter.scenario.workload import Flow, Name, Participant, Path
from hopmeter.schemas import add_folders


class Strict(BaseModel):
    """A model that rejects unknown keys and non-finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


if TYPE_CHECKING:

    class ConditionKeys(Strict):
        """A key for each condition, with a list of values; None if the scenario does not give the key."""

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

else:
    ConditionKeys = add_axes("ConditionKeys", Strict)


class Axes(ConditionKeys):
    """The conditions of a set of cells. A missing condition has its default (see `resolve.DEFAULTS`)."""

    settings: dict[str, dict[str, Axis[Setting]]] = Field(
        {}, description="Settings from the manifest, by transport; a list is an axis."
    )
    messages: Count | None = Field(None, description="Messages measured in each trial.")
    duration: Span | None = Field(
        None,
        description=f"The measured duration of each trial, instead of `messages`; trials of {UNSCHEDULED} end after "
        f"at most {MOST_UNSCHEDULED_MESSAGES:,} messages.",
    )
    warmup: Annotated[int, Field(ge=0, le=MOST_MESSAGES)] | None = Field(
        None, description="The number of warm-up messages before the measured messages."
    )
    trials: Count | None = Field(None, description="The number of trials of each cell, each in new processes.")

    @model_validator(mode="after")
    def _one_length(self) -> Axes:
        if self.messages is not None and self.duration is not None:
            raise RefusedValueError(
                "E-VALUES-CONFLICT", "messages and duration both set the length of a trial; give one of them"
            )
        return self


class Case(Axes):
    """Values that replace those of the scenario for some of its cells."""


class Look(Axes):
    """Values for the short form of the scenario, which takes a few minutes; `--full` ignores them."""

    budget: Span | None = Field(None, description="The maximum total time of all trials.")
    until: Until | None = Field(None, description="The decision that ends the run before its budget ends.")
    drain: Duration | None = Field(
        None, description="How long receivers wait for late messages after the last message."
    )


class Scenario(Axes):
    """A question, and the cells that answer it."""

    title: str = Field(description="The title of the scenario.")
    question: str = Field(description="The question that the scenario answers, as a sentence.")
    quick: bool = Field(False, description="Label the results as a quick look, which is too short for decisions.")
    case: list[Case] = Field(
        [],
        description="Several sets of cells for one question; each inherits the scenario's keys that it does not set.",
    )
    budget: Span | None = Field(
        None,
        description="The maximum total time of all trials, instead of a number of trials. Rounds continue until the "
        "question is decided or the time is used up; a search for the highest rate ends with the budget.",
    )
    until: Until | None = Field(
        None,
        description='The question to decide within the budget: the "order" of all cells of a table, the "best" cell, '
        'whether each cell meets its "require" limits, or each median to within "±5%"; by default "require" if '
        'the scenario has requirements, otherwise "order".',
    )
    look: Look | None = Field(
        None, description="Values that replace the scenario's values in the quick look, unless --full is given."
    )
    search: Search | None = Field(
        None, description="Search for the highest rate of each cell, instead of measuring given rates."
    )
    participant: dict[Name, Participant] = Field({}, description="The participants of a workload, by name.")
    flow: dict[Name, Flow] = Field({}, description="The flows between the participants of a workload, by name.")
    path: dict[Name, Path] = Field({}, description="The paths that flows of a workload form, by name.")
    alone: bool = Field(
        False,
        description="Also measure each flow with a deadline alone, with only the flows that cause it, to show "
        "how much the other flows of the workload delay it; multiplies the number of cells.",
    )
    include: list[str] = Field(
        [],
        description="Folders with files that message schemas import, relative to the scenario's file; "
        "folders above a schema need not be listed.",
    )
    background: Background | None = Field(None, description="A background load on the machine during each trial.")
    columns: list[ColumnName] = Field([], description="Columns of cells.parquet that matter for the question.")
    require: list[Requirement] = Field(
        [], description="Limits of metrics, which each cell meets, misses or leaves undecided."
    )
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] | None = Field(
        None, description="The seed for the order of trials; by default, hopmeter chooses and records a random seed."
    )
    spin_us: Stretch = Field(
        None,
        description="How long a node spins, instead of sleeping, before a message is due or a `sleep` work ends; "
        "by default derived from the wake-up delays on this machine.",
    )
    drain: Duration = Field("200ms", description="How long receivers wait for late messages after the last message.")
    retry: Duration = Field("1s", description="How long the source retries a refused message.")
    patience: Span = Field(
        "10s",
        description="How long a client waits for a reply in addition to the requested work, and a flow with `returns` "
        "for a message to return, before the next message is sent.",
    )
    timeout: Span = Field(
        "20s", description="The maximum time that a node may take for each step of its start and end."
    )
    reply: Literal["echo", "header"] = Field(
        "echo", description="The content of a server's reply: the whole request, or only the request's header."
    )
    checksum: bool = Field(
        False, description="Check every payload, not only those of the warm-up and of the last message."
    )
    fifo: Annotated[int, Field(ge=0, le=99)] = Field(
        0, description="The SCHED_FIFO priority of the nodes; 0 selects the normal scheduler."
    )
    mlock: bool = Field(False, description="Lock all memory of the nodes in RAM.")
    no_idle_states: bool | Literal["both"] = Field(
        False,
        description='Keep idle cores awake (/dev/cpu_dma_latency at 0). "both" measures with idle cores awake and '
        "asleep, if this user may write that file and the run has a budget; the order is then decided with "
        "idle cores kept awake.",
    )
    sample_cpu: bool = Field(False, description="Record the CPU use of each process every second in cpu/.")
    why: bool = Field(
        False,
        description="Measure each cell once more, outside the ranking, and report why its slowest messages are slow.",
    )

    @model_validator(mode="after")
    def _add_folders(self) -> Scenario:
        """Add the import folders to each payload, so that the payload alone determines how its schema is compiled."""
        if missing := next((folder for folder in self.include if not FilePath(folder).is_dir()), None):
            raise RefusedValueError("E-FILE-UNREADABLE", f"include: there is no folder {missing}")
        for part in filter(None, (self, self.look, *self.case)):
            if part.payload is not None:
                part.payload = [add_folders(each, self.include) for each in part.payload]
        for flow in self.flow.values():
            flow.payload = add_folders(flow.payload, self.include)
        return self

    @model_validator(mode="after")
    def _searchable(self) -> Scenario:
        said = [self.search.asks_for(part) for part in (self, *self.case)] if self.search else []
        if wrong := next(filter(None, said), ""):
            raise RefusedValueError("E-VALUES-CONFLICT", wrong)
        return self

    @model_validator(mode="after")
    def _check_pace(self) -> Scenario:
        if self.flow:
            return self  # each flow has its own pace
        parts: list[Axes] = [*self.case] or [self]
        cases = [dict(self) | {key: value for key, value in part if value is not None} for part in parts]
        paces = [case["pace"] or [KEYS["pace"].default] for case in cases]
        faults = [each for own, case in zip(paces, cases, strict=True) for each in missing_parameters("", own, case)]
        every = [pace for own in paces for pace in own]
        faults += [each for part in (self, *self.case) for each in idle_parameters("", every, dict(part))]
        for code, what in faults:
            raise RefusedValueError(code, what)
        return self

    @model_validator(mode="after")
    def _check_workload(self) -> Scenario:
        if self.flow or self.participant or self.path:
            check_workload(self)
        elif self.alone:
            raise RefusedValueError("E-VALUES-CONFLICT", "alone: only a workload has flows to measure alone; omit it")
        return self

    @model_validator(mode="after")
    def _check_requirements(self) -> Scenario:
        has_deadline = any(flow.deadline for flow in self.flow.values())
        has_deadline |= any(path.deadline for path in self.path.values())
        wrong = [each for each in self.require if parse_requirement(each).metric == "missed_share" and not has_deadline]
        if wrong:
            said = f'require: "{wrong[0]}" needs a flow with a deadline, such as flow.NAME.deadline = "10ms"'
            raise RefusedValueError("E-VALUES-CONFLICT", said)
        return self

    @model_validator(mode="after")
    def _check_budget(self) -> Scenario:
        fixed = any(part.trials is not None for part in (self, *self.case))
        if self.budget and fixed and not self.search:
            raise RefusedValueError(
                "E-VALUES-CONFLICT", "budget and trials both set the number of trials; give one of them"
            )
        if self.until and not self.budget:
            raise RefusedValueError("E-VALUES-CONFLICT", 'until needs a budget; add a budget, such as budget = "90s"')
        if self.until == "require" and not self.require:
            raise RefusedValueError(
                "E-VALUES-CONFLICT",
                'until = "require" needs a requirement; add a requirement, such as require = ["p99 < 1ms"]',
            )
        return self

    @property
    def budget_s(self) -> float | None:
        """Return the budget for rounds in seconds, or None if the number of trials is fixed."""
        return units.seconds(self.budget) if self.budget and not self.search else None
