"""Builds codec libraries, each of which contains the generated code for one schema message.

This package also generates message types in a transport's own type system, such as that of ROS 2.
"""

from hopmeter.build.messages.libraries import MessageTarget, build_library, library_log, select_messages
from hopmeter.build.messages.types import TypeTarget, build_types, select_types, types_log

__all__ = [
    "MessageTarget",
    "TypeTarget",
    "build_library",
    "build_types",
    "library_log",
    "select_messages",
    "select_types",
    "types_log",
]
