"""Hosts other than this machine. The package contains the agent, which starts nodes on a host, and the coordinator,
which connects to agents."""
