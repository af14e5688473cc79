"""Passes memory of NVIDIA GPUs between processes by handle (CUDA IPC) instead of a copy through the host.

Nothing in this package has ever run on a GPU. It follows NVIDIA's documentation. The tests replace the driver's library
with a fake one (`driver.LIBRARY`), and check the behaviour on a machine without a GPU.
"""
