"""A schema with one field of the message's type. The generated code of the field has the name that the compiler of
schemas gives to the type in each language, so that nobody else needs its rules."""

from __future__ import annotations

from pathlib import Path

NAME = "hopmeter_probe"
PROTO = """syntax = "proto2";
package hopmeter_probe;
import "{home}";
option optimize_for = LITE_RUNTIME;
message Probe {{ optional .{type} message = 1; }}
service Probing {{ rpc Get(.{type}) returns (.{type}); }}
"""
"""A lite file may import files of every kind. Generators of services get the name of the type."""
FBS = """include "{home}";
namespace hopmeter_probe;
table Probe {{ message:{type}; }}
namespace {namespace};
"""
"""At the end of a file, flatc looks up types that attributes name in the last namespace."""


def write_probe(folder: Path, suffix: str, home: str, type_name: str) -> Path:
    """Write the schema, which imports the file `home` of the type."""
    path = folder / f"{NAME}{suffix}"
    names = {"home": home.replace("\\", "\\\\"), "type": type_name, "namespace": type_name.rpartition(".")[0]}
    path.write_text({".proto": PROTO, ".fbs": FBS}[suffix].format(**names))
    return path
