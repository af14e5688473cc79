"""Checks whether a comparison codec can represent an object.

The check rejects objects that the codec would change, or that would make the codec's library fail.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hopmeter.codecs import dtypes
from hopmeter.codecs.errors import ENDING, CodecError, key_step
from hopmeter.codecs.header import MAX_DEPTH

Encoder = Callable[[Any], list[Any]]
Rule = Callable[[Any], str]
"""A function that returns the reason why a value cannot be represented, or an empty string if the value can be
represented."""
KEPT = 1024
REMEDY = "convert it, or choose hopmeter's own codec or a pickle codec"


def accept(_: Any) -> str:
    """Accept every value."""
    return ""


def between(least: int, most: int) -> Rule:
    """Return a rule that accepts integers from `least` to `most`."""
    return lambda value: "" if least <= value <= most else "the integer is too large"


def encodable(text: str) -> str:
    """Return the reason why UTF-8 cannot encode the text, or an empty string if UTF-8 can encode it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "the text contains a surrogate"
    return ""


@dataclass(frozen=True)
class Profile:
    """Describes which objects a codec can represent. A codec is tested with small arrays to find out whether it can
    represent arrays."""

    name: str
    values: Mapping[type, Rule]
    """The types that the codec can represent, each with a rule for its values. Subclasses of these types are not
    included."""
    keys: Mapping[type, Rule] = field(default_factory=dict)
    """The types of dict keys, each with a rule. If `keys` is empty, the codec supports neither dicts nor lists."""
    lists: bool = True
    depth: int = MAX_DEPTH
    """The maximum nesting depth of containers."""
    reserved: Sequence[frozenset[str]] = ()
    """Sets of dict keys that the codec reserves for arrays. A dict with exactly such a set of keys is rejected."""
    other: Rule | None = None
    """A rule for a library's objects. The library is imported when one of its objects is first encoded."""


def check_with(profile: Profile) -> Callable[[Encoder], Encoder]:
    """Return a decorator for `encode`.

    The decorated function raises CodecError for any object that the codec cannot carry unchanged.
    """

    def decorate(encode: Encoder) -> Encoder:
        decode = functools.cache(lambda: sys.modules[encode.__module__].decode)
        tried: dict[Any, Any] = {}

        def check_array(array: Any) -> None:
            key = (dtypes.cache_key(array.dtype), array.shape)
            if key not in tried:
                _try_array(profile, encode, decode(), array)
                if len(tried) >= KEPT:
                    tried.clear()
                tried[key] = array.dtype

        @functools.wraps(encode)
        def encode_checked(obj: Any) -> list[Any]:
            if type(obj) is np.ndarray:
                check_array(obj)
            else:
                _check(obj, profile, check_array, 0)
            return _encode(profile, encode, obj)

        return encode_checked

    return decorate


def _encode(profile: Profile, encode: Encoder, obj: Any) -> list[Any]:
    try:
        return encode(obj)
    except (CodecError, *ENDING):
        raise
    except BaseException as cause:
        raise refusal(profile.name, obj, str(cause)) from cause


def refusal(codec: str, obj: Any, why: str = "", remedy: str = REMEDY) -> CodecError:
    """Return the error for an object that a codec cannot represent."""
    kind = type(obj)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return CodecError("E-NO-FORM", f"{codec} cannot represent {name}{why and f' ({why[:200]})'}", remedy)


def _check(obj: Any, profile: Profile, check_array: Callable[[Any], None], depth: int) -> None:
    kind, why = type(obj), ""
    if kind is np.ndarray:
        check_array(obj)
    elif kind in profile.values:
        if why := profile.values[kind](obj):
            raise refusal(profile.name, obj, why)
    elif kind is dict and profile.keys:
        _check_dict(obj, profile, check_array, depth)
    elif kind is list and profile.keys and profile.lists:
        _check_depth(profile, obj, depth)
        for number, item in enumerate(obj):
            _check_part(item, profile, check_array, depth, f"[{number}]")
    elif profile.other is None or (why := profile.other(obj)):
        raise refusal(profile.name, obj, why)


def _check_depth(profile: Profile, obj: Any, depth: int) -> None:
    if depth >= profile.depth:
        raise CodecError(
            "E-NESTED",
            f"{profile.name}: a {type(obj).__name__} is nested deeper than {profile.depth} levels",
            "flatten it; a cycle cannot be sent",
        )


def _check_dict(obj: dict[Any, Any], profile: Profile, check_array: Callable[[Any], None], depth: int) -> None:
    _check_depth(profile, obj, depth)
    if obj.keys() in profile.reserved:
        raise refusal(profile.name, obj, "its keys are those of an array", "rename a key")
    for key, value in obj.items():
        why = profile.keys[type(key)](key) if type(key) in profile.keys else "as a key"
        if why:
            raise refusal(profile.name, key, why).within(key_step(key))
        _check_part(value, profile, check_array, depth, key_step(key))


def _check_part(obj: Any, profile: Profile, check_array: Callable[[Any], None], depth: int, step: str) -> None:
    try:
        _check(obj, profile, check_array, depth + 1)
    except CodecError as error:
        error.within(step)
        raise


def _try_array(profile: Profile, encode: Encoder, decode: Callable[[Any], Any], array: Any) -> None:
    """Raise CodecError if a small array with the given array's dtype and number of dimensions does not survive encoding
    and decoding."""
    node = dtypes.to_node(array.dtype)
    probe = _probe(array.dtype, tuple(min(length, 2) for length in array.shape))
    try:
        back = decode([bytes(frame) for frame in encode(probe)])
    except (MemoryError, *ENDING):
        raise
    except BaseException as cause:
        raise _array_refusal(profile, array, str(cause)) from cause
    if type(back) is not np.ndarray or back.shape != probe.shape or not _has_same_bytes(back, probe):
        raise _array_refusal(profile, array, "it would arrive as a different array")
    if dtypes.to_node(back.dtype) != node:
        raise _array_refusal(profile, array, f"it would arrive as {back.dtype}")


def _has_same_bytes(one: Any, other: Any) -> bool:
    """Return whether two arrays have the same bytes.

    Padding between the fields of a dtype is ignored, because NumPy does not copy padding.
    """
    if one.dtype.names is None or one.dtype.names != other.dtype.names:
        return bool(one.tobytes() == other.tobytes())
    return all(_has_same_bytes(one[name], other[name]) for name in one.dtype.names)


def _array_refusal(profile: Profile, array: Any, why: str) -> CodecError:
    what = f"an array of dtype {array.dtype} and shape {array.shape}"
    return CodecError("E-NO-FORM", f"{profile.name} cannot represent {what}: {why[:200]}", REMEDY)


def _probe(dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return an array whose bytes count up from 1, or an array of zeros if the dtype allows only some byte values."""
    made = np.zeros(shape, dtype)
    if made.dtype.kind in "iufcmM" and made.dtype.char not in "gG" and made.nbytes:
        made.reshape(-1).view(np.uint8)[...] = np.arange(1, made.nbytes + 1, dtype=np.uint64)
    return made
