"""Hosts other than this machine: the agent that starts nodes on a host, and the coordinator's connection to the
agent."""
