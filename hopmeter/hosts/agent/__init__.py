"""The agent: serves one coordinator, starts nodes on its host, and listens for coordinators."""
