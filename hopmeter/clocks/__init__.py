"""The clocks of several hosts: exchanges between them, and what these say about times of one host on another's clock.

`batches` asks, `pair_model` fits one pair of hosts, `run_clocks` has all pairs. Only the instrument reads a clock.
"""
