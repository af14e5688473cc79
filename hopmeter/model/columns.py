"""The columns of `cells.parquet`, `trials.parquet` and `processes.parquet`; docs/metrics.md says what each means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

FIGURES = (
    "response",
    "service",
    "hop",
    "roundtrip",
    "encode",
    "decode",
    "gather",
    "server",
    "copy",
    "overhead",
    "excess",
)
STATISTICS = ("mean", "std", "min", "p50", "p90", "p99", "p999", "max")
BOUNDED = ("p50", "p99")
"""The percentiles that have a 95 % interval."""


def _typed(kind: pa.DataType, names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, kind) for name in names.split()]


def _figure(name: str) -> list[tuple[str, pa.DataType]]:
    bounds = [f"{each}_{end}" for each in BOUNDED for end in ("low", "high")]
    columns = [(f"{name}_{each}_us", pa.float64()) for each in (*STATISTICS, *bounds)]
    return [*columns, (f"{name}_count", pa.int64())]


CELLS = pa.schema(
    [
        *_typed(pa.string(), "cell transport language pattern placement wait cores payload"),
        *_typed(pa.int64(), "payload_bytes frame_bytes"),
        *_typed(pa.string(), "touch codec device share pace"),
        *_typed(pa.float64(), "rate_hz"),
        *_typed(pa.int64(), "relays sinks pairs messages warmup"),
        *_typed(pa.string(), "work asking heap forward profile"),
        *_typed(pa.bool_(), "ranked quick"),
        *_typed(pa.int64(), "trials trials_good"),
        *_typed(pa.string(), "status reason"),
        ("warnings", pa.list_(pa.string())),
        *_typed(pa.int64(), "sent received lost duplicated reordered abandoned busy"),
        *_typed(pa.int64(), "malformed foreign content_errors unrecorded stray negative trimmed"),
        *_typed(pa.float64(), "achieved_hz achieved_mb_s copies_per_hop send_mean_us empty_hop_us"),
        *[column for name in FIGURES for column in _figure(name)],
        *_typed(pa.float64(), "ideal_us"),
        *_typed(pa.list_(pa.float64()), "servers_roundtrip_mean_us servers_roundtrip_p50_us servers_roundtrip_p99_us"),
        *_typed(pa.list_(pa.float64()), "servers_held_mean_us servers_held_p50_us servers_last_share"),
        *_typed(pa.list_(pa.float64()), "sinks_service_mean_us sinks_service_min_us sinks_service_p50_us"),
        *_typed(pa.list_(pa.float64()), "sinks_service_p99_us sinks_service_max_us"),
        ("sinks_received", pa.list_(pa.int64())),
        *_typed(pa.float64(), "chain_per_hop_p50_us chain_per_hop_p50_low_us chain_per_hop_p50_high_us"),
        *_typed(pa.float64(), "chain_per_hop_p90_us chain_per_hop_p90_low_us chain_per_hop_p90_high_us"),
        *_typed(pa.float64(), "pacing_error_p50_us pacing_error_p99_us"),
        *_typed(pa.float64(), "cpu_us_per_message cpu_percent_mean cpu_percent_low cpu_percent_high"),
        *_typed(pa.int64(), "cpu_samples"),
        *_typed(pa.float64(), "voluntary_switches_per_message involuntary_switches_per_message"),
        *_typed(pa.float64(), "minor_faults_per_message major_faults_per_message"),
        *_typed(pa.float64(), "loopback_bytes_per_message rss_peak_mb"),
        *_typed(pa.string(), "floor floor_reason"),
        *_typed(pa.float64(), "floor_us times_floor"),
        *_typed(pa.string(), "search search_failed"),
        *_typed(pa.float64(), "highest_rate_hz lowest_failing_hz"),
        *_typed(pa.string(), "library_version path"),
    ]
)

TRIALS = pa.schema(
    [
        *_typed(pa.string(), "cell"),
        *_typed(pa.int64(), "trial"),
        *_typed(pa.bool_(), "good"),
        *_typed(pa.string(), "reason remedy"),
        *_typed(pa.int64(), "order start_ns"),
        *_typed(pa.float64(), "wall_s steal_us"),
        *_typed(pa.string(), "samples"),
        *_typed(pa.int64(), "sent received lost duplicated reordered abandoned"),
        *_typed(pa.float64(), "achieved_hz response_p50_us response_p99_us service_p50_us service_p99_us"),
        *_typed(pa.float64(), "roundtrip_p50_us roundtrip_p99_us"),
        *_typed(pa.string(), "nodes"),
    ]
)
"""`nodes` holds the nodes' own reports as JSON."""

PROCESSES = pa.schema(
    [
        *_typed(pa.string(), "cell"),
        *_typed(pa.int64(), "trial"),
        *_typed(pa.bool_(), "good"),
        *_typed(pa.int64(), "process"),
        *_typed(pa.string(), "name roles language"),
        *_typed(pa.int64(), "pid messages"),
        *_typed(pa.float64(), "interval_s user_us system_us spun_us"),
        *_typed(pa.int64(), "voluntary_switches involuntary_switches minor_faults major_faults"),
        *_typed(pa.float64(), "rss_peak_mb shared_mapped_mb"),
    ]
)


def table(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table that always has all columns, whatever is null."""
    return pa.Table.from_pylist(list(rows), schema)
