"""The agent: listens for coordinators, serves one coordinator at a time, and starts nodes on its host."""
