"""`hopmeter build`: builds or installs adapters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from hopmeter.api import options
from hopmeter.cli.parts import hosts_options
from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.hosts.coordinator.host_options import HostOptions
from hopmeter.model.workload import NO_CODEC
from hopmeter.schemas.payload import KIND, add_folders, parse_message
from hopmeter.schemas.ros2.types import has_type


def register(app: typer.Typer) -> None:
    """Add the command `build` to the application."""
    app.command(epilog="Example: hopmeter build zeromq --language c++,python")(build)


def build(
    transports: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TRANSPORT]...", help="Transports to build; all by default.", show_default=False),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="rust, c++ or python; repeat the option or separate values with commas.")
    ] = None,
    scenario: Annotated[
        str, typer.Option("--needed-for", metavar="SCENARIO", help="Build only what this scenario needs.")
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=A,B",
            help="Install the variant that these settings select, such as distribution=jazzy for ros2.",
        ),
    ] = None,
    system_packages: Annotated[
        bool,
        typer.Option("--system-packages", help="Install missing system packages, if that needs no password."),
    ] = False,
    framework: Annotated[
        list[str] | None,
        typer.Option(
            help="Instead of building adapters, install the framework of a codec, such as torch, or all; repeat the "
            "option or separate values with commas. If you name transports, it is installed for their Python nodes."
        ),
    ] = None,
    message: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE:TYPE",
            help="Instead of adapters, build the code for a message of your schema, such as robot.proto:robot.State, "
            "or of ROS 2, such as my_msgs/msg/State.msg; repeat the option for several messages.",
        ),
    ] = None,
    codec: Annotated[
        list[str] | None,
        typer.Option(help="With --message: protobuf, flatbuffers or cdr; by default all that support the schema."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="With --message: a folder with files that the schema imports; repeat the option for several folders.",
        ),
    ] = None,
    hosts: hosts_options.File = None,
    cluster: hosts_options.Address = None,
    cluster_ca: hosts_options.CA = None,
    cluster_cert: hosts_options.Certificate = None,
    cluster_key: hosts_options.Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each adapter.")] = False,
) -> None:
    """Build the adapters: Rust with Cargo, C++ with CMake, and Python by installing the packages that it needs.

    With --hosts or --cluster, all hosts build their own adapters concurrently.
    """
    languages = options.split_words("language", language or ())
    payloads = [_payload(each, include or ()) for each in message or ()]
    if (hosts or cluster) and framework:
        remedy = "start `hopmeter build --framework …` on each host instead"
        raise UsageError("E-OPTION-CONFLICT", "--framework cannot be combined with --hosts or --cluster", remedy)
    with HostOptions(hosts, cluster, cluster_ca, cluster_cert, cluster_key).open() as session:
        if session is not None:
            from hopmeter.build.messages import select_messages
            from hopmeter.cli.parts.host_builds import build_for_hosts, order_for, order_for_messages

            messages = select_messages(payloads, options.split_words("codec", codec or ()), languages)
            order = order_for(transports or (), languages, scenario, settings or (), system_packages)
            build_for_hosts(session, order_for_messages(messages, system_packages) if message else order, as_json)
            return
    if framework:
        from hopmeter.cli.codecs import install_frameworks

        install_frameworks(options.split_words("framework", framework), transports or [], settings or [])
        return
    from hopmeter.build.messages import select_messages, select_types
    from hopmeter.cli.parts.adapter_builds import Wanted, build_adapters
    from hopmeter.cli.parts.message_builds import build_messages

    codecs = options.split_words("codec", codec or ())
    messages = select_messages(payloads, [each for each in codecs if each != NO_CODEC], languages)
    if message:
        own = payloads if NO_CODEC in codecs else [] if codecs else [each for each in payloads if has_type(each)]
        types = select_types(own, languages, settings or ())
        build_messages([*(messages if codecs != [NO_CODEC] else []), *types], system_packages, as_json)
    else:
        build_adapters(Wanted(transports or (), languages, scenario, settings or ()), system_packages, as_json)


def _payload(message: str, folders: Sequence[str]) -> str:
    """Return the payload for a message, with its import directories. Raises UsageError if the message's format is
    invalid."""
    payload = add_folders(f"{KIND}{message}", folders)
    try:
        parse_message(payload)
    except RefusedValueError as cause:
        raise UsageError(cause.code, f"--message {message}: {cause.what}", "check the name and the path") from cause
    return payload
