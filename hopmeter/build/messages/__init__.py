"""Builds codec libraries: generated code for one message of a schema, and the object that is sent."""

from hopmeter.build.messages.libraries import MessageTarget, build_library, library_log, select_messages

__all__ = ["MessageTarget", "build_library", "library_log", "select_messages"]
