"""The columns of a row by the types of their values, from columns.toml.

`python -m hopmeter.model.column_types_file` writes this file.
"""

# fmt: off
from __future__ import annotations

from typing import Any, Literal, overload

BeginOrNone = Literal[
    "begin"
]
RequireOrNone = Literal[
    "require"
]
RestartOrNone = Literal[
    "restart"
]
Status = Literal[
    "status"
]
Flag = Literal[
    "ranked", "installable"
]
FlagOrNone = Literal[
    "quick", "stopped_early"
]
RealOrNone = Literal[
    "rate_hz", "ramp_to_hz", "backlog_ms_per_s", "lag_share", "growth", "growth_low", "growth_high",
    "clock_uncertainty_us", "clock_residual_us", "achieved_hz", "achieved_mb_s", "forward_copies_per_message",
    "send_mean_us", "empty_hop_us", "first_message_mean_us", "first_message_std_us", "first_message_min_us",
    "first_message_p50_us", "first_message_p90_us", "first_message_p99_us", "first_message_p999_us",
    "first_message_max_us", "first_message_p50_low_us", "first_message_p50_high_us", "first_message_p99_low_us",
    "first_message_p99_high_us", "first_message_p999_low_us", "first_message_p999_high_us", "recovery_mean_us",
    "recovery_std_us", "recovery_min_us", "recovery_p50_us", "recovery_p90_us", "recovery_p99_us", "recovery_p999_us",
    "recovery_max_us", "recovery_p50_low_us", "recovery_p50_high_us", "recovery_p99_low_us", "recovery_p99_high_us",
    "recovery_p999_low_us", "recovery_p999_high_us", "response_mean_us", "response_std_us", "response_min_us",
    "response_p50_us", "response_p90_us", "response_p99_us", "response_p999_us", "response_max_us",
    "response_p50_low_us", "response_p50_high_us", "response_p99_low_us", "response_p99_high_us",
    "response_p999_low_us", "response_p999_high_us", "reaction_mean_us", "reaction_std_us", "reaction_min_us",
    "reaction_p50_us", "reaction_p90_us", "reaction_p99_us", "reaction_p999_us", "reaction_max_us",
    "reaction_p50_low_us", "reaction_p50_high_us", "reaction_p99_low_us", "reaction_p99_high_us",
    "reaction_p999_low_us", "reaction_p999_high_us", "data_age_mean_us", "data_age_std_us", "data_age_min_us",
    "data_age_p50_us", "data_age_p90_us", "data_age_p99_us", "data_age_p999_us", "data_age_max_us",
    "data_age_p50_low_us", "data_age_p50_high_us", "data_age_p99_low_us", "data_age_p99_high_us",
    "data_age_p999_low_us", "data_age_p999_high_us", "service_mean_us", "service_std_us", "service_min_us",
    "service_p50_us", "service_p90_us", "service_p99_us", "service_p999_us", "service_max_us", "service_p50_low_us",
    "service_p50_high_us", "service_p99_low_us", "service_p99_high_us", "service_p999_low_us", "service_p999_high_us",
    "hop_mean_us", "hop_std_us", "hop_min_us", "hop_p50_us", "hop_p90_us", "hop_p99_us", "hop_p999_us", "hop_max_us",
    "hop_p50_low_us", "hop_p50_high_us", "hop_p99_low_us", "hop_p99_high_us", "hop_p999_low_us", "hop_p999_high_us",
    "roundtrip_mean_us", "roundtrip_std_us", "roundtrip_min_us", "roundtrip_p50_us", "roundtrip_p90_us",
    "roundtrip_p99_us", "roundtrip_p999_us", "roundtrip_max_us", "roundtrip_p50_low_us", "roundtrip_p50_high_us",
    "roundtrip_p99_low_us", "roundtrip_p99_high_us", "roundtrip_p999_low_us", "roundtrip_p999_high_us",
    "gather_mean_us", "gather_std_us", "gather_min_us", "gather_p50_us", "gather_p90_us", "gather_p99_us",
    "gather_p999_us", "gather_max_us", "gather_p50_low_us", "gather_p50_high_us", "gather_p99_low_us",
    "gather_p99_high_us", "gather_p999_low_us", "gather_p999_high_us", "server_mean_us", "server_std_us",
    "server_min_us", "server_p50_us", "server_p90_us", "server_p99_us", "server_p999_us", "server_max_us",
    "server_p50_low_us", "server_p50_high_us", "server_p99_low_us", "server_p99_high_us", "server_p999_low_us",
    "server_p999_high_us", "overhead_mean_us", "overhead_std_us", "overhead_min_us", "overhead_p50_us",
    "overhead_p90_us", "overhead_p99_us", "overhead_p999_us", "overhead_max_us", "overhead_p50_low_us",
    "overhead_p50_high_us", "overhead_p99_low_us", "overhead_p99_high_us", "overhead_p999_low_us",
    "overhead_p999_high_us", "excess_mean_us", "excess_std_us", "excess_min_us", "excess_p50_us", "excess_p90_us",
    "excess_p99_us", "excess_p999_us", "excess_max_us", "excess_p50_low_us", "excess_p50_high_us",
    "excess_p99_low_us", "excess_p99_high_us", "excess_p999_low_us", "excess_p999_high_us", "copy_mean_us",
    "copy_std_us", "copy_min_us", "copy_p50_us", "copy_p90_us", "copy_p99_us", "copy_p999_us", "copy_max_us",
    "copy_p50_low_us", "copy_p50_high_us", "copy_p99_low_us", "copy_p99_high_us", "copy_p999_low_us",
    "copy_p999_high_us", "encode_mean_us", "encode_std_us", "encode_min_us", "encode_p50_us", "encode_p90_us",
    "encode_p99_us", "encode_p999_us", "encode_max_us", "encode_p50_low_us", "encode_p50_high_us",
    "encode_p99_low_us", "encode_p99_high_us", "encode_p999_low_us", "encode_p999_high_us", "decode_mean_us",
    "decode_std_us", "decode_min_us", "decode_p50_us", "decode_p90_us", "decode_p99_us", "decode_p999_us",
    "decode_max_us", "decode_p50_low_us", "decode_p50_high_us", "decode_p99_low_us", "decode_p99_high_us",
    "decode_p999_low_us", "decode_p999_high_us", "ideal_us", "chain_per_hop_p50_us", "chain_per_hop_p90_us",
    "chain_per_hop_p50_low_us", "chain_per_hop_p50_high_us", "chain_per_hop_p90_low_us", "chain_per_hop_p90_high_us",
    "pacing_error_p50_us", "pacing_error_p99_us", "launch_us", "opening_us", "discovery_us", "lost_at_start",
    "lost_after_open", "outage_us", "restart_us", "reconnection_us", "lost_by_restart", "repeated_by_restart",
    "highest_rate_hz", "lowest_failing_hz", "median_us", "throughput_hz", "throughput_low_hz", "throughput_high_hz",
    "throughput_mb_s", "throughput_source_cpu_percent", "throughput_sink_cpu_percent", "flood_hz", "flood_lost_share",
    "median_low_us", "median_high_us", "ratio_to_best", "ratio_to_best_low", "ratio_to_best_high", "deadline_us",
    "missed_share", "missed_share_low", "missed_share_high", "worst_p99_ratio", "worst_p99_ratio_low",
    "worst_p99_ratio_high", "times_alone", "times_alone_low", "times_alone_high", "times_alone_p99",
    "times_alone_p99_low", "times_alone_p99_high", "times_unsecured", "times_unsecured_low", "times_unsecured_high",
    "cpu_times_unsecured", "cpu_times_unsecured_low", "cpu_times_unsecured_high", "floor_us", "times_floor",
    "times_floor_low", "times_floor_high", "cpu_core_percent", "cpu_core_percent_low", "cpu_core_percent_high",
    "cpu_us_per_message", "voluntary_switches_per_message", "involuntary_switches_per_message",
    "minor_faults_per_message", "major_faults_per_message", "loopback_bytes_per_message", "rss_peak_mb", "pss_mb",
    "cpu_percent_mean", "cpu_percent_low", "cpu_percent_high", "background_cpu_percent", "background_memory_gb_s",
    "why_over_us", "why_mean_us", "why_p50_us", "why_running", "why_core_wait", "why_waking", "why_behind",
    "why_work_sleep", "why_stolen", "why_unknown", "why_minor_faults", "why_major_faults", "why_usual_minor_faults",
    "why_steal_percent"
]
Whole = Literal[
    "payload_bytes", "frame_bytes", "relays", "sinks", "pairs", "messages", "warmup"
]
WholeOrNone = Literal[
    "largest_payload_bytes", "burst", "trials", "trials_good", "trials_repeated", "negative", "trimmed", "stray",
    "malformed", "foreign", "content_errors", "unrecorded", "sent", "received", "lost", "duplicated", "reordered",
    "abandoned", "busy", "first_message_count", "first_message_lost", "recovery_count", "recovery_lost",
    "response_count", "response_lost", "reaction_count", "reaction_lost", "data_age_count", "data_age_lost",
    "service_count", "service_lost", "hop_count", "hop_lost", "roundtrip_count", "roundtrip_lost", "gather_count",
    "gather_lost", "server_count", "server_lost", "overhead_count", "overhead_lost", "excess_count", "excess_lost",
    "copy_count", "copy_lost", "encode_count", "encode_lost", "decode_count", "decode_lost", "search_round",
    "rank_low", "rank_high", "rounds", "missed", "missed_in_a_row", "require_rounds", "p99_rounds", "cpu_samples",
    "why_messages"
]
RealsOrNone = Literal[
    "servers_roundtrip_mean_us", "servers_roundtrip_p50_us", "servers_roundtrip_p99_us", "sinks_service_mean_us",
    "sinks_service_min_us", "sinks_service_p50_us", "sinks_service_p99_us", "sinks_service_max_us",
    "servers_held_mean_us", "servers_held_p50_us", "servers_last_share"
]
WholesOrNone = Literal[
    "sinks_received"
]
TextsOrNone = Literal[
    "warnings", "warning_codes", "require_each"
]
Text = Literal[
    "cell", "transport", "language", "pattern", "placement", "wait", "cores", "payload", "touch", "codec", "pace",
    "device", "share", "work", "heap", "profile", "group"
]
TextOrNone = Literal[
    "pause", "dispatch", "acknowledged_by", "forward", "side", "counterpart", "library_version", "carried_by", "flow",
    "path", "alongside", "alone", "background", "hosts", "graph", "reason", "reason_code", "search", "search_failed",
    "throughput_limit", "missed_part", "decided_by", "worst_flow", "security", "security_covers", "unsecured",
    "p50_state", "p90_state", "p99_state", "p999_state", "floor", "floor_reason", "why_note"
]


class TypedColumns:
    """An object whose columns have the types of columns.toml; mypy refuses a name that is no column."""

    def get(self, column: str) -> Any:
        """Return the value of a column by a computed name; None if there is no such column."""
        raise NotImplementedError

    def number(self, column: RealOrNone | Whole | WholeOrNone) -> float:
        """Return a number that cannot be missing, because the caller has chosen rows that have this number."""
        return float(self.get(column))

    @overload
    def __getitem__(self, column: BeginOrNone) -> Literal["linked", "at-once"] | None: ...

    @overload
    def __getitem__(self, column: RequireOrNone) -> Literal["meets", "undecided", "misses"] | None: ...

    @overload
    def __getitem__(self, column: RestartOrNone) -> Literal["none", "broker", "sink"] | None: ...

    @overload
    def __getitem__(self, column: Status) -> Literal["ok", "saturated", "failed", "dropped"]: ...

    @overload
    def __getitem__(self, column: Flag) -> bool: ...

    @overload
    def __getitem__(self, column: FlagOrNone) -> bool | None: ...

    @overload
    def __getitem__(self, column: RealOrNone) -> float | None: ...

    @overload
    def __getitem__(self, column: Whole) -> int: ...

    @overload
    def __getitem__(self, column: WholeOrNone) -> int | None: ...

    @overload
    def __getitem__(self, column: RealsOrNone) -> list[float | None] | None: ...

    @overload
    def __getitem__(self, column: WholesOrNone) -> list[int | None] | None: ...

    @overload
    def __getitem__(self, column: TextsOrNone) -> list[str] | None: ...

    @overload
    def __getitem__(self, column: Text) -> str: ...

    @overload
    def __getitem__(self, column: TextOrNone) -> str | None: ...

    def __getitem__(self, column: str) -> Any:
        """Return the value of a column."""
        return self.get(column)
