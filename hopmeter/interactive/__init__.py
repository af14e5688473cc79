"""Pairs of commands for two terminals: `hopmeter publish` with `listen`, and `serve` with `ask`.

`publish` and `serve` listen for connections as the agent of their host. `listen` and `ask` connect to these agents and
coordinate a run on both hosts.
"""
