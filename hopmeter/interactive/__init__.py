"""Two commands that you start in two terminals: `hopmeter publish` and `listen`, `serve` and `ask`.

One listens and is the agent of its host; the other connects to it and is the coordinator of a run on both hosts.
"""
