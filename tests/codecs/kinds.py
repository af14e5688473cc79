"""Tensor frameworks under test: how to create a tensor, and how to read its dtype, values and device."""

from __future__ import annotations

from typing import Any

import numpy as np
from carrying import before_tensorflow


class Torch:
    def __init__(self) -> None:
        import torch

        self.of = torch

    def tensor(self, array: Any, dtype: str) -> Any:
        return self.of.from_numpy(array).to(getattr(self.of, dtype))

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype).removeprefix("torch.")

    def array(self, tensor: Any) -> Any:
        return (tensor.float() if tensor.dtype == self.of.bfloat16 else tensor).numpy()

    def address(self, tensor: Any) -> int:
        return int(tensor.data_ptr())


class Tensorflow:
    def __init__(self) -> None:
        before_tensorflow()
        import tensorflow as tf

        self.of = tf

    def tensor(self, array: Any, dtype: str) -> Any:
        return self.of.cast(self.of.constant(array), dtype)

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype.name)

    def array(self, tensor: Any) -> Any:
        return self.of.cast(tensor, "float32").numpy() if tensor.dtype == "bfloat16" else tensor.numpy()

    def address(self, tensor: Any) -> int:
        return int(np.asarray(memoryview(tensor)).ctypes.data)


class Jax:
    def __init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.of = jax.numpy

    def tensor(self, array: Any, dtype: str) -> Any:
        return self.of.asarray(array).astype(dtype)

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype)

    def array(self, tensor: Any) -> Any:
        return np.asarray(tensor)

    def address(self, tensor: Any) -> int:
        return int(tensor.unsafe_buffer_pointer())


class Paddle:
    def __init__(self) -> None:
        import paddle

        self.of = paddle

    def tensor(self, array: Any, dtype: str) -> Any:
        return self.of.to_tensor(array).astype(dtype)

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype).removeprefix("paddle.")

    def array(self, tensor: Any) -> Any:
        return (tensor.astype("float32") if self.dtype(tensor) == "bfloat16" else tensor).numpy()

    def address(self, tensor: Any) -> int:
        return int(tensor.data_ptr())


KINDS = {"torch": Torch, "tensorflow": Tensorflow, "jax": Jax, "paddle": Paddle}
