"""Build and install the adapters of transports with Cargo, CMake or uv."""
