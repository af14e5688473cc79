"""Writes a probe schema with one field of the message's type.

The generated code for the probe's field reveals the type's name in each language, so hopmeter need not know the naming
rules.
"""

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
"""The probe schema, which is a lite schema because a lite schema may import files of every kind. Service generators
receive the generated name of the type."""
FBS = """include "{home}";
namespace hopmeter_probe;
table Probe {{ message:{type}; }}
namespace {namespace};
"""
"""The FlatBuffers probe schema. flatc resolves type names in attributes at the end of the file, in the last
namespace."""


def write_probe(folder: Path, suffix: str, home: str, type_name: str) -> Path:
    """Write the probe schema, which imports the schema file `home`, and return the path of the probe schema."""
    path = folder / f"{NAME}{suffix}"
    names = {"home": home.replace("\\", "\\\\"), "type": type_name, "namespace": type_name.rpartition(".")[0]}
    path.write_text({".proto": PROTO, ".fbs": FBS}[suffix].format(**names))
    return path
