"""The initial values of an example program, taken from a measured row."""

from __future__ import annotations

import re
from typing import Any

from hopmeter.analysis.results.run_results import Row
from hopmeter.model.workload import Flow

MOST_MESSAGES = 1000


def example_values(row: Row) -> dict[str, Any]:
    """Return the settings, payload size, rate, message count and topic of a row. For a workload, return the settings,
    size, rate, count and topic of the busiest flow."""
    settings = {name.upper(): value for name, value in row.cell.carriage.settings.items()}
    flow = busiest_flow(row)
    rate_hz = flow.rate_hz if flow else row["rate_hz"]
    size = flow.payload_bytes if flow else row["payload_bytes"]
    messages = flow.messages if flow else row.cell.schedule.messages
    return {
        **settings,
        "PAYLOAD_BYTES": int(size or 0),
        **({"RATE_HZ": float(rate_hz)} if rate_hz else {}),
        "COUNT": max(1, min(messages, MOST_MESSAGES)),
        "TOPIC": topic_name(flow.name) if flow else "messages" if row["pattern"] == "pubsub" else "calls",
    }


def topic_name(flow: str) -> str:
    """Return a flow's name in a form that all transports allow. DDS and ROS allow neither hyphens nor a leading
    digit."""
    return re.sub(r"^(?=\d)", "flow_", flow.replace("-", "_"))


def example_pattern(row: Row) -> str:
    """Return the pattern of an example program for this row."""
    flow = busiest_flow(row)
    return flow.pattern if flow else str(row["pattern"])


def busiest_flow(row: Row) -> Flow | None:
    """Return the workload's flow with the highest byte rate, or None for a row without a workload."""
    workload = row.cell.workload
    if workload is None:
        return None
    return max(workload.flows, key=lambda flow: (flow.rate_hz or 0.0) * (flow.payload_bytes + 64))
