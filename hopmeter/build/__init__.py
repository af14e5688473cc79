"""Builds and installs the adapters of transports: Cargo, CMake or uv, and one answer for each."""
