"""Builds and installs the adapters of transports with Cargo, CMake or uv."""
