"""`hopmeter build`: builds or installs the adapters of transports."""

from __future__ import annotations

from typing import Annotated

import typer

from hopmeter.api import options


def register(app: typer.Typer) -> None:
    """Add the command."""
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
    system_packages: Annotated[
        bool,
        typer.Option("--system-packages", help="Install missing system packages, if that needs no password."),
    ] = False,
    framework: Annotated[
        list[str] | None,
        typer.Option(
            help="Install the framework of a codec instead, such as torch, or all; repeat the option or separate "
            "values with commas. With transports: for their Python nodes."
        ),
    ] = None,
    message: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE:TYPE",
            help="Build the code that encodes a message of your schema instead, such as robot.proto:robot.State; "
            "repeat the option for several.",
        ),
    ] = None,
    codec: Annotated[
        list[str] | None,
        typer.Option(help="With --message: protobuf or flatbuffers; by default each for which there is a schema."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each adapter.")] = False,
) -> None:
    """Build the adapters: Rust with Cargo, C++ with CMake, Python with the packages it needs."""
    from hopmeter.build.messages import select_messages
    from hopmeter.cli.parts.adapter_builds import build_adapters
    from hopmeter.cli.parts.message_builds import build_messages

    if framework:
        from hopmeter.cli.codecs import install_frameworks

        install_frameworks(options.split_words("framework", framework), transports or [])
        return
    languages = options.split_words("language", language or ())
    messages = select_messages(message or (), options.split_words("codec", codec or ()), languages)
    if message:
        build_messages(messages, system_packages, as_json)
    else:
        build_adapters(transports or (), languages, scenario, system_packages, as_json)
