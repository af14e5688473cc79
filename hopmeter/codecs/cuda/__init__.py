"""Passes memory of NVIDIA GPUs between processes by handle (CUDA IPC) instead of a copy through the host.

`make test-gpu` tests it on a GPU. The other tests replace the driver's library with a fake one (`driver.LIBRARY`).
"""
