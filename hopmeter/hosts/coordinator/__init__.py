"""The coordinator: connects to agents, compares the clocks of hosts, and runs trials on them."""
