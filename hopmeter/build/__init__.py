"""Uses Cargo, CMake or uv to build and install the adapters of transports."""
