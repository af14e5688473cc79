"""Shares GPU memory between processes by CUDA IPC handle, instead of copying it through the host.

`make test-gpu` tests this on a GPU. All other tests use a fake driver library (`driver.LIBRARY`).
"""
