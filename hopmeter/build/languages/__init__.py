"""Builds transport adapters: Rust with Cargo, C++ with CMake, and Python with uv."""
