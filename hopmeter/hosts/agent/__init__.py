"""The agent: listens for coordinators, serves one of them, and starts nodes on its host."""
