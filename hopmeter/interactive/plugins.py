"""Defines the plugins (frameworks) of the study of native objects, and the study's names for transports and plugins,
such as `pytorch` and `ros`."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.codecs import install_hint
from hopmeter.codecs.lookup import own_packages
from hopmeter.node.payloads.forms import forms
from hopmeter.system.toml_files import one_of


@dataclass(frozen=True)
class Plugin:
    """A framework on one device, under the names that scenarios use."""

    codec: str
    device: str = "cpu"


WITHOUT = {
    "mxnet_gpu": "hopmeter supports MXNet on the CPU only: use mxnet",
    "trax": "Trax has no codec: send its arrays with the codec jax",
}
PLUGINS = {
    codec if device == "cpu" or not form.cpu else f"{codec}_{device}": Plugin(codec, device)
    for codec, form in forms().items()
    for device in form.devices
    if f"{codec}_{device}" not in WITHOUT
}
OTHER_NAMES = {
    "pytorch": "torch",
    "pytorch_gpu": "torch_gpu",
    "cupy_gpu": "cupy",
    "pil": "pillow",
    "pandas_pyarrow": "pandas_arrow",
}
OTHER_TRANSPORTS = {"ros": "ros1"}


def plugin_name(word: str) -> str:
    """Return hopmeter's name for the plugin that a user named."""
    return OTHER_NAMES.get(word.lower(), word.lower())


def transport_name(word: str) -> str:
    """Return hopmeter's name for the transport that a user named."""
    return OTHER_TRANSPORTS.get(word.lower(), word.lower())


def why_no_plugin(name: str) -> str:
    """Return the reason why a plugin cannot be used on this machine, with the install command, or an empty string if
    the plugin can be used. The function imports no framework."""
    if name in WITHOUT:
        return WITHOUT[name]
    if name not in PLUGINS:
        return f"plugin {one_of(name, PLUGINS)}"
    # A framework that needs its own environment is checked later, together with each transport.
    return "" if own_packages(PLUGINS[name].codec) else install_hint(PLUGINS[name].codec)
