"""Options that select the hosts on which a command runs: a hosts file or a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "Hosts"


def _option(metavar: str, help_text: str) -> Any:
    return typer.Option(metavar=metavar, help=help_text, rich_help_panel=PANEL)


File = Annotated[Path | None, _option("FILE.toml", "The file that names the hosts and how to reach each.")]
Address = Annotated[str | None, _option("tls://HOST:PORT", "The Dask scheduler whose workers are the hosts.")]
CA = Annotated[Path | None, _option("FILE.pem", "With --cluster: the certificate authority of the cluster.")]
Certificate = Annotated[Path | None, _option("FILE.pem", "With --cluster: your certificate.")]
Key = Annotated[Path | None, _option("FILE.pem", "With --cluster: the key of your certificate.")]
