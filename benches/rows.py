"""The comparisons of `peers.py`: middlewares against their own tools or against bare programs over the same library."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pairs import ROUNDS
from programs import APART, TOGETHER, Crate, Program, Script
from tools import Bare, Tool

Axes = dict[str, str | int | bool]

SECONDS = 1
SCENARIO = """
title = "Round trips"
question = "What does a round trip cost?"
transport = "{transport}"
language = "{language}"
payload = "bytes:{payload}"
touch = "none"
pace = "closed"
messages = {rounds}
warmup = {warmup}
trials = 1
drain = "20ms"
{axes}
[settings.{transport}]
{settings}
"""
RING: Axes = {"pattern": "pubsub", "relays": 1}
CALL: Axes = {"pattern": "rpc"}


@dataclass(frozen=True)
class Row:
    """One comparison of a middleware, at each frame size."""

    transport: str
    language: str
    against: str
    """The peer's name in the table."""
    peer: Bare | Tool
    axes: Axes
    settings: Axes = field(default_factory=dict)
    limit: float | None = 1.05
    most_us: float | None = None
    """The limit for a small frame on one core, in µs, which applies only if the peer's time is below the limit."""
    sizes: tuple[int, ...] = (64, 1_000_000)
    cores: str = APART
    figure: str = "roundtrip_p50_us"

    def scenario(self, frame_bytes: int) -> str:
        """Return the scenario for hopmeter's side."""
        rounds = ROUNDS[frame_bytes]
        return SCENARIO.format(
            transport=self.transport,
            language=self.language,
            payload=frame_bytes - 64,
            rounds=rounds,
            warmup=min(100, rounds // 5),
            axes=_toml({"placement": "process", "cores": self.cores, **self.axes}),
            settings=_toml(self.settings),
        )

    def name(self, frame_bytes: int) -> str:
        values = (name if value is True else str(value) for name, value in self.settings.items())
        words = [str(self.axes["wait"]), *values]
        place = ", one core" if self.cores == TOGETHER else ""
        return f"{self.transport} ({self.language}), {', '.join(words)}, {frame_bytes:,} B{place} / {self.against}"

    @property
    def together(self) -> Row:
        """The row for the small frame with both processes on one core. The row has no limit, because the kernel decides
        which process runs next."""
        return replace(self, cores=TOGETHER, limit=None, sizes=(min(ROUNDS),))


def _toml(values: Axes) -> str:
    said = {key: f'"{value}"' if isinstance(value, str) else str(value).lower() for key, value in values.items()}
    return "\n".join(f"{key} = {value}" for key, value in said.items())


LANGUAGES = {"rust": 1.05, "c++": 1.05, "python": None}
"""The languages measured over the kernel's own transports, with their limits. Python has no limit, because the bare
programs are in C."""
COMMON = ("{bytes}", "{rounds}", "{cores}")
NNG = Program("nng.c", ("nng",))
PINGPONG = Program("pingpong.c")
MQ = Program("mq.c")
MPI = Program("mpi.c", modules=("ompi-c",))
REQREP = Program("reqrep.c", ("zmq",))
ZEROMQ = {"ipc": "ipc://{directory}/bench", "tcp": "tcp://127.0.0.1:{port}", "inproc": "inproc://bench"}
GRPC = Program(
    "grpc.cpp",
    modules=("grpc++", "protobuf"),
    idl="grpc/idl/hopmeter.proto",
    generator=(
        "sh",
        "-c",
        "protoc -I{of} --cpp_out={made} --grpc_out={made} --plugin=protoc-gen-grpc=$(command -v grpc_cpp_plugin) {idl}",
    ),
)
THRIFT = Program(
    "thrift.cpp",
    ("thrift",),
    idl="thrift/idl/hopmeter.thrift",
    generator=("thrift", "-out", "{made}", "--gen", "cpp:no_skeleton", "{idl}"),
)
CAPNPROTO = Program(
    "capnproto.cpp",
    modules=("capnp-rpc",),
    idl="capnproto/idl/hopmeter.capnp",
    generator=(
        "sh",
        "-c",
        "capnp compile -oc++:{made} --src-prefix={of} {idl} && mv {made}/hopmeter.capnp.c++ {made}/hopmeter.capnp.cc",
    ),
)
FASTDDS = Program(
    "fastdds.cpp",
    ("fastrtps", "fastcdr"),
    idl="fastdds/idl/hopmeter.idl",
    generator=("sh", "-c", "mkdir -p {made}/left && fastddsgen -replace -d {made} -t {made}/left {idl}"),
)
BEAST = Program("websocket.cpp")
HTTPLIB = Program("http.cpp", modules=("cpp-httplib",))
ROS1 = Program("ros1.cpp", modules=("roscpp",))
ROS2_WIRE = Program(
    "ros2wire.c",
    ("ddsc",),
    idl="ros2-wire/idl/sensor_msgs.idl",
    # idlc generates no code for included definitions, so they are compiled separately.
    generator=("sh", "-c", "idlc -t -o {made} {of}/std_msgs.idl && idlc -t -o {made} {idl}"),
)
ICEORYX2 = Program("iceoryx2.cpp", ("iceoryx2_cxx", "iceoryx2_ffi_c"), headers="iceoryx2/v*", root="ICEORYX2_ROOT")
ZENOH = Program("zenoh.cpp", ("zenohc",), flags=("-DZENOHCXX_ZENOHC",), root="ZENOH_ROOT")
AERON = Program("aeron.cpp", ("aeron",), headers="*", root="AERON_ROOT")
ICEORYX = Program("iceoryx.cpp", ("iceoryx_posh", "iceoryx_hoofs"), headers="iceoryx/v*")
# The settings use only the loopback device and no multicast, as in transports/_cyclonedds. ddsperf reports half a round
# trip. Each ddsperf process has a separate session, like hopmeter's nodes, because the scheduler divides a core between
# sessions.
CYCLONE = (
    "<CycloneDDS><Domain id='any'><General>"
    "<Interfaces><NetworkInterface address='127.0.0.1' multicast='false'/></Interfaces>"
    "<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>99</MaxAutoParticipantIndex><Peers><Peer address='127.0.0.1'/></Peers></Discovery>"
    "</Domain></CycloneDDS>"
)


def _fastdds(segment_bytes: int, frame_bytes: int, limit: float | None = 1.05) -> Row:
    # With the library's default segment size (0), both programs lose parts of large frames, so the case has no limit.
    settings: Axes = {"segment_bytes": segment_bytes} if segment_bytes else {}
    peer = Bare(FASTDDS, ("{domain}", *COMMON, str(segment_bytes)))
    return Row("fastdds", "c++", "bare", peer, {**RING, "wait": "block"}, settings, limit, sizes=(frame_bytes,))


def _durable(transport: str, program: Program) -> Row:
    """Return the row of a transport whose broker stores each message."""
    settings: Axes = {"durable": True}
    peer = Bare(program, ("{broker}", *COMMON), transport, settings=settings)
    return Row(transport, "c++", "bare", peer, {**RING, "wait": "block"}, settings, cores=TOGETHER)


def _thrift(wait: Axes, settings: Axes) -> tuple[Row, Row]:
    # The limit applies to the bare program that waits, counts and uses threads as a node must.
    alike, plain = (Bare(THRIFT, ("{port}", *COMMON, way)) for way in ("alike", "plain"))
    axes = {**CALL, **wait}
    limited = Row("thrift", "c++", "bare", alike, axes, settings, most_us=15.5)
    return limited, Row("thrift", "c++", "bare, plainest", plain, axes, settings, None, sizes=(64,))


def _capnproto() -> tuple[Row, Row]:
    # The limit applies to `alike`: as in a node, its main thread passes calls to the thread of the event loop.
    alike, plain = (Bare(CAPNPROTO, ("{port}", *COMMON, way)) for way in ("alike", "plain"))
    axes: Axes = {**CALL, "wait": "callback"}
    return Row("capnproto", "c++", "bare", alike, axes), Row(
        "capnproto", "c++", "bare, plainest", plain, axes, limit=None
    )


def _pipes() -> tuple[Row, Row]:
    alike, plain = (Bare(Script("pipes.py", "queue"), (*COMMON, way)) for way in ("alike", "plain"))
    axes: Axes = {**RING, "wait": "block"}
    return Row("queue", "python", "bare", alike, axes), Row(
        "queue", "python", "bare, plainest", plain, axes, limit=None
    )


def _beast() -> tuple[Row, Row]:
    alike, plain = (Bare(BEAST, (way, *COMMON)) for way in ("alike", "plain"))
    axes: Axes = {**RING, "wait": "block"}
    return Row("websocket", "c++", "bare", alike, axes), Row(
        "websocket", "c++", "bare, plainest", plain, axes, limit=None
    )


def _zeromq(language: str, endpoint: str) -> Row:
    # Both languages are compared with the same C program, because they use the same libzmq.
    place = "thread" if endpoint == "inproc" else "process"
    axes: Axes = {**CALL, "wait": "block", "placement": place}
    settings: Axes = {} if endpoint == "ipc" else {"endpoint": endpoint}
    return Row("zeromq", language, "bare", Bare(REQREP, (ZEROMQ[endpoint], *COMMON)), axes, settings)


def _ddsperf(way: str) -> Tool:
    return Tool(
        server=("ddsperf", "-i", "{domain}", "pong", way),
        client=(*("ddsperf", "-i", "{domain}"), *("-D", str(SECONDS + 1), "ping", "size", "{bytes}", way)),
        figure=r"50% ([\d.]+)us",
        times=2.0,
        environment={"CYCLONEDDS_URI": CYCLONE},
    )


def _sockets(kind: str, language: str, limit: float | None) -> tuple[Row, Row]:
    # `alike` does the same work as a ring: one connection per direction, and two timestamps per message.
    alike, plain = (Bare(PINGPONG, (kind, way, *COMMON)) for way in ("alike", "plain"))
    axes: Axes = {**RING, "wait": "block"}
    sizes = (64,) if kind == "udp" else (64, 1_000_000)  # a datagram has at most 65,507 bytes
    return (
        Row(kind, language, "bare", alike, axes, limit=limit, sizes=sizes),
        Row(kind, language, "bare, plainest", plain, axes, limit=None, sizes=sizes),
    )


def _connections(kind: str) -> Row:
    peer = Bare(Script("connections.py", "multiprocessing"), (*COMMON, kind))
    settings: Axes = {} if kind == "connection" else {"kind": kind}
    return Row("multiprocessing", "python", "bare", peer, {**CALL, "wait": "block"}, settings)


def _mpi(language: str, limit: float | None) -> tuple[Row, Row]:
    alike, plain = (Bare(MPI, (way, *COMMON)) for way in ("alike", "plain"))
    axes: Axes = {**RING, "wait": "spin"}
    return (
        Row("mpi", language, "bare", alike, axes, limit=limit),
        Row("mpi", language, "bare, plainest", plain, axes, limit=None),
    )


def _queues(language: str, limit: float | None) -> tuple[Row, Row]:
    # A message has at most 8192 bytes, so there is no row for large frames.
    alike, plain = (Bare(MQ, (way, *COMMON)) for way in ("alike", "plain"))
    axes: Axes = {**RING, "wait": "block"}
    return (
        Row("mq", language, "bare", alike, axes, limit=limit, sizes=(64,)),
        Row("mq", language, "bare, plainest", plain, axes, limit=None, sizes=(64,)),
    )


LIMITED = (
    Row("cyclonedds", "c++", "ddsperf", _ddsperf("listener"), {**RING, "wait": "callback"}, {"depth": 1}),
    Row("cyclonedds", "c++", "ddsperf", _ddsperf("waitset"), {**RING, "wait": "block"}, {"depth": 1}),
    _fastdds(0, 64),
    _fastdds(0, 1_000_000, limit=None),
    _fastdds(8 << 20, 1_000_000),
    Row("nng", "c++", "bare", Bare(NNG, ("ipc://{directory}/bench", *COMMON)), {**CALL, "wait": "block"}),
    Row(
        "nng",
        "c++",
        "bare",
        Bare(NNG, ("tcp://127.0.0.1:{port}", *COMMON)),
        {**CALL, "wait": "block"},
        {"endpoint": "tcp"},
    ),
    Row("ros1", "c++", "bare", Bare(ROS1, COMMON, "ros1"), {**RING, "wait": "block"}),
    Row("ros2-wire", "c++", "bare", Bare(ROS2_WIRE, ("{domain}", *COMMON)), {**RING, "wait": "block"}),
    Row("iceoryx", "c++", "bare", Bare(ICEORYX, COMMON, "iceoryx"), {**RING, "wait": "block"}),
    Row("lcm", "c++", "bare", Bare(Program("lcm.c", ("lcm",)), ("{port}", *COMMON)), {**RING, "wait": "block"}),
    Row(
        "nats",
        "c++",
        "bare",
        Bare(Program("nats.c", ("nats",)), ("{broker}", *COMMON), "nats"),
        {**CALL, "wait": "block"},
        cores=TOGETHER,
    ),
    _durable("nats", Program("jetstream.c", ("nats",))),
    _durable("redis", Program("redis_streams.c", ("hiredis",))),
    Row(
        "mqtt",
        "c++",
        "bare",
        Bare(Program("mqtt.c", ("mosquitto",)), ("{broker}", *COMMON), "mqtt"),
        {**RING, "wait": "block"},
        cores=TOGETHER,
    ),
    Row(
        "redis",
        "c++",
        "bare",
        Bare(Program("redis.c", ("hiredis",)), ("{broker}", *COMMON), "redis"),
        {**RING, "wait": "block"},
        cores=TOGETHER,
    ),
    Row(
        "dbus",
        "c++",
        "bare",
        Bare(Program("dbus.c", ("systemd",)), ("{broker}", *COMMON), "dbus"),
        {**CALL, "wait": "block"},
        cores=TOGETHER,
    ),
    Row(
        "rabbitmq",
        "c++",
        "bare",
        Bare(Program("rabbitmq.c", ("rabbitmq",)), ("{broker}", *COMMON), "rabbitmq"),
        {**CALL, "wait": "block"},
        cores=TOGETHER,
    ),
    Row(
        "kafka",
        "c++",
        "bare",
        Bare(Program("kafka.c", ("rdkafka",)), ("{broker}", *COMMON), "kafka"),
        {**RING, "wait": "block"},
        {"linger_ms": 0},
        cores=TOGETHER,
    ),
    Row("websocket", "rust", "bare", Bare(Crate("websocket"), COMMON), {**RING, "wait": "block"}),
    *_beast(),
    Row("quic", "rust", "bare", Bare(Crate("quic"), COMMON), {**RING, "wait": "block"}),
    Row(
        "http",
        "c++",
        "bare",
        Bare(HTTPLIB, ("1", *COMMON)),
        {**CALL, "wait": "callback"},
        {"tcp_nodelay": "on"},
    ),
    Row("ecal", "python", "bare", Bare(Script("ecal_alone.py", "ecal"), COMMON), {**RING, "wait": "callback"}),
    Row(
        "arrow-flight",
        "python",
        "bare",
        Bare(Script("flight_alone.py", "arrow-flight"), COMMON),
        {**CALL, "wait": "callback"},
    ),
    *_pipes(),
    *map(_connections, ("connection", "shared_memory")),
    *(_zeromq(language, endpoint) for language in ("rust", "c++") for endpoint in ZEROMQ),
    *(
        row
        for kind in ("unix", "tcp", "udp", "pipe")
        for language, limit in LANGUAGES.items()
        for row in _sockets(kind, language, limit)
    ),
    *(row for language, limit in LANGUAGES.items() for row in _queues(language, limit)),
    *(row for language, limit in LANGUAGES.items() for row in _mpi(language, limit)),
    Row("grpc", "c++", "bare", Bare(GRPC, COMMON), {**CALL, "wait": "callback"}, most_us=65.0),
    Row("grpc", "c++", "bare", Bare(GRPC, COMMON), {**CALL, "wait": "block"}, most_us=65.0),
    *_capnproto(),
    *_thrift({"wait": "block"}, {}),
    *_thrift({"wait": "callback"}, {"server": "simple"}),
    *(
        Row("iceoryx2", "c++", "bare", Bare(ICEORYX2, ("{directory}", wait, *COMMON)), {**RING, "wait": wait})
        for wait in ("block", "spin")
    ),
    *(
        Row("zenoh", "c++", "bare", Bare(ZENOH, (wait, *COMMON)), {**RING, "wait": wait}, {"congestion": "block"})
        for wait in ("block", "callback")
    ),
    # There is no limit for 64 bytes: hopmeter's timestamps and records take more than 5 % of the round trip of 0.6 µs.
    *(
        Row("aeron", "c++", "bare", Bare(AERON, ("{broker}", wait, *COMMON), "aeron"), axes, limit=limit, sizes=(size,))
        for wait, axes in (("block", {**RING, "wait": "block"}), ("spin", {**RING, "wait": "spin"}))
        for size, limit in ((64, None), (1_000_000, 1.05))
    ),
    # Only small frames are comparable: a hopmeter relay copies the payload, but the library's benchmark never writes
    # one.
    Row(
        "iceoryx2",
        "rust",
        "benchmark",
        Bare(Crate("shm"), ("hop", "iceoryx2", "{bytes}", "{rounds}"), nanoseconds=2.0),
        {**RING, "wait": "spin"},
        sizes=(64,),
        figure="roundtrip_mean_us",
    ),
)


ROWS = (
    *LIMITED,
    *(
        row.together
        for row in LIMITED
        if row.cores == APART and min(ROUNDS) in row.sizes and row.axes["wait"] != "spin"
    ),
)
