"""The coordinator: connects to agents, compares host clocks, and runs trials on the hosts."""
