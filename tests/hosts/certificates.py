"""Create test certificates with `openssl`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hopmeter.hosts.coordinator.hosts_file import HostEntry


def make_certificates(folder: Path) -> None:
    """Create an authority, certificates that it signs for an agent and a coordinator, and one from another
    authority."""

    def call(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=test")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("ca", "foreign"):
        call(*new, "-x509", "-days", "2", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    for name in ("agent", "coordinator"):
        call(*new, "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "san")
        call("x509", "-req", "-in", f"{name}.csr", *signer, "-out", f"{name}.pem")


def entry_with_tls(at: str, folder: Path, own: str, authority: str) -> HostEntry:
    return HostEntry(listens=at, cert=folder / f"{own}.pem", key=folder / f"{own}.key", ca=folder / f"{authority}.pem")
