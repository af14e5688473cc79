"""The clocks of several hosts: clock exchanges, and the translation of times between hosts.

`batches` performs exchanges, `pair_model` fits one pair of hosts, and `run_clocks` combines all pairs. Only the
instrument reads clocks.
"""
