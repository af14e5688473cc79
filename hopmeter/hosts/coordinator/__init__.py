"""The coordinator's side: connects to agents, compares clocks, and runs its trials on their hosts."""
