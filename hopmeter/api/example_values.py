"""The values of a measured row that an example begins with."""

from __future__ import annotations

import re
from typing import Any

from hopmeter.analysis.results.run_results import Row
from hopmeter.model.workload import Flow

MOST_MESSAGES = 1000


def example_values(row: Row) -> dict[str, Any]:
    """Return payload, rate, count and topic, and the settings of the transport; of a workload those of its busiest
    flow."""
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
    """Return the name of a flow as every transport allows it: DDS and ROS allow no hyphen, and no digit first."""
    return re.sub(r"^(?=\d)", "flow_", flow.replace("-", "_"))


def example_pattern(row: Row) -> str:
    """Return the pattern of the messages that an example carries."""
    flow = busiest_flow(row)
    return flow.pattern if flow else str(row["pattern"])


def busiest_flow(row: Row) -> Flow | None:
    """Return the flow of a workload with a clock that moves the most bytes; None for an ordinary row."""
    workload = row.cell.workload
    if workload is None:
        return None
    return max(workload.flows, key=lambda flow: (flow.rate_hz or 0.0) * (flow.payload_bytes + 64))
