"""Other machines on which nodes run: the agent that starts them there, and the coordinator's connection to it."""
