"""Shares GPU memory between processes by CUDA IPC handles, instead of copying the memory through the host.

`make test-gpu` tests memory handles on a GPU. Tests without a GPU use a fake driver library (`driver.LIBRARY`).
"""
