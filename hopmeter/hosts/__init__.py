"""Hosts other than this machine: the agent that starts nodes there, and the coordinator's connection to the agent."""
