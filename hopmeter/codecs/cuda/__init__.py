"""Memory of NVIDIA GPUs passed between processes by handle (CUDA IPC) in place of a copy through the host.

Nothing in this package has ever run on a GPU: there was none. It was written after NVIDIA's documentation and tested
with a library of our own in place of the driver's (`driver.LIBRARY`), and through its refusals where there is none.
"""
