"""Other machines that run nodes: the agent that starts nodes there, and the coordinator's connection to the agent."""
