"""Builds the adapters of a transport: Rust with Cargo, C++ with CMake, Python with uv."""
