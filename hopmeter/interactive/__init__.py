"""Implements the command pairs `hopmeter publish`/`listen` and `hopmeter serve`/`ask`, which run in two terminals.

`publish` and `serve` listen for connections as the agent of their host. `listen` and `ask` connect to the agent on the
other host and coordinate a run on both hosts.
"""
