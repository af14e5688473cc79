"""Two pairs of commands that you start in two terminals: `hopmeter publish` and `listen`, `serve` and `ask`.

`publish` and `serve` listen, as the agent of their host; `listen` and `ask` connect to them and coordinate a run on
both hosts.
"""
