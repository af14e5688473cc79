"""The PyTorch codec: dense tensors of every dtype, and parameters, with their device and `requires_grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hopmeter.codecs import arrays, devices
from hopmeter.codecs.checks import listing, one_of
from hopmeter.codecs.cuda import nodes
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.lookup import import_package
from hopmeter.codecs.writing import Frames, Lending, refusal

ROOTS = ("torch",)
EXTRA = "torch"
MEGABYTES = (2860, 5300)
RAW = True
READERS: dict[str, Any] = {}
NOT_NUMPYS = {"bfloat16": "int16"}
"""The integer dtypes in which dtypes that NumPy lacks are sent. All dtypes that NumPy lacks and that are not listed are
variants of float8, and are sent as uint8."""


def write(obj: Any, frames: Frames, depth: int) -> str:  # noqa: ARG001 (all writers have the same arguments)
    """Append a tensor's memory to `frames`, and return the tensor's header node.

    A tensor on a device other than the CPU is copied to the CPU. If the sender's tensor was on another device, such as
    a GPU, the receiver copies the tensor to a device of that kind.
    """
    torch = import_package("torch", EXTRA)
    if type(obj) not in (torch.Tensor, torch.nn.Parameter):
        tensor = isinstance(obj, torch.Tensor)
        raise refusal(obj, "send `it.as_subclass(torch.Tensor)`" if tensor else "send tensors: `module.state_dict()`")
    if obj.requires_grad and obj.is_leaf and obj.grad is not None:
        raise CodecError("E-NO-FORM", "the gradient of a tensor would be lost", "send `it.detach()` and `it.grad`")
    if isinstance(frames, Lending) and (node := _lend(torch, obj, frames)):
        return node
    if obj.is_cpu and not obj.requires_grad:
        try:
            return arrays.write(obj.numpy(), frames, "torch")
        except (TypeError, RuntimeError):  # NumPy lacks the dtype, or cannot represent this view
            pass
    return _write_rare(torch, obj, frames)


def _write_rare(torch: Any, tensor: Any, frames: Frames) -> str:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
        raise refusal(tensor, "hopmeter sends only dense tensors; use `to_dense()` or `dequantize()`")
    extra = (_kind(torch, tensor), None if tensor.is_cpu else str(tensor.device), tensor.requires_grad)
    here = tensor.detach().cpu().resolve_conj().resolve_neg()
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype == "bfloat16" or dtype.startswith("float8"):
        here = here.contiguous().view(getattr(torch, NOT_NUMPYS.get(dtype, "uint8")))
    else:
        dtype = ""
    return arrays.write(here.numpy(), frames, "torch", extra, dtype or None)


def _lend(torch: Any, tensor: Any, frames: Lending) -> str | None:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta or not nodes.on_gpu(tensor.detach()):
        return None
    extra = (_kind(torch, tensor), str(tensor.device), tensor.requires_grad)
    return nodes.lend_tensor(tensor.detach().resolve_conj().resolve_neg(), frames, "torch", extra)


def _kind(torch: Any, tensor: Any) -> str:
    return "parameter" if isinstance(tensor, torch.nn.Parameter) else "tensor"


def from_device(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that builds a tensor over another process's GPU memory."""
    torch = import_package("torch", EXTRA)
    kind, _, gradient = _read_extra(wanted.extra)
    return lambda ghost: _as_sent(torch, torch.from_dlpack(ghost), kind, gradient)


def _as_sent(torch: Any, tensor: Any, kind: str, gradient: bool) -> Any:
    if kind == "parameter":
        return torch.nn.Parameter(tensor, requires_grad=gradient)
    return tensor.requires_grad_(True) if gradient else tensor


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that builds a tensor over an array's memory.

    Tensors are writable, so read-only memory is copied.
    """
    torch = import_package("torch", EXTRA)
    kind, device, gradient = _read_extra(wanted.extra)
    place = _device(torch, wanted.device, device)
    raw = getattr(torch, wanted.raw) if wanted.raw else None

    def share(array: Any) -> Any:
        try:
            return torch.from_numpy(array) if array.flags.writeable else torch.from_numpy(arrays.aligned_copy(array))
        except (TypeError, ValueError) as cause:
            return _other_order(torch, array, cause)

    def convert(array: Any) -> Any:
        tensor = share(array)
        tensor = tensor if raw is None else tensor.view(raw)
        tensor = tensor if place is None else tensor.to(place)
        return _as_sent(torch, tensor, kind, gradient)

    return share if raw is place is None and not gradient and kind == "tensor" else convert


def _other_order(torch: Any, array: Any, cause: Exception) -> Any:
    if array.dtype.isnative:
        raise CodecError(
            "E-FRAMEWORK-DTYPE", f"torch has no tensors of dtype {array.dtype}", "receive it as numpy"
        ) from cause
    return torch.from_numpy(arrays.to_native_order(array))


def _read_extra(extra: Any) -> tuple[str, Any, bool]:
    if extra is None:
        return "tensor", None, False
    kind, device, gradient = listing(extra, 3)
    return one_of(kind, "tensor", "parameter"), device, one_of(gradient, True, False)


def _device(torch: Any, asked: str | None, sent: Any) -> Any:
    """Return the requested GPU, or None for the CPU. By default, return a GPU if the sender's tensor was on a GPU, or
    None if this machine has no GPU."""
    if asked is not None:
        number = devices.gpu("torch", asked, _gpus)
        return None if number is None else torch.device("cuda", number)
    if not isinstance(sent, str) or not sent.startswith("cuda") or not torch.cuda.is_available():
        return None
    index = torch.device(sent).index or 0
    return torch.device("cuda", min(index, torch.cuda.device_count() - 1))


def _form(array: Any, place: str) -> Any:
    return import_package("torch", EXTRA).from_numpy(array.copy()).to(place or "cpu")


def _gpus() -> int:
    return int(import_package("torch", EXTRA).cuda.device_count())


def _settle(tensor: Any) -> Any:
    import_package("torch", EXTRA).cuda.synchronize(tensor.device)
    return tensor


FORM = Form(
    _form,
    lambda tensor: tensor.cpu().numpy(),
    "float32",
    gpu="cuda",
    gpus=_gpus,
    settle=_settle,
    noun="a PyTorch tensor",
)
