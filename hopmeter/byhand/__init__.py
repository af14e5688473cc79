"""Participants that a person starts, one in a terminal each: `hopmeter listen` and `publish`, `serve` and `ask`.

docs/by-hand.md tells how they are used. The command itself only pairs up with the other one (`where`: in a folder by
`meeting`, on another machine, whose clock is another one (`clocks`), by `network`), starts the broker where one is
needed (`brokers`), and shows and writes what came out; every message is moved by a process of its own
(`participant`), on the Python that its transport needs (`child`), over `hopmeter.connect`.
"""
