"""Describes ARM processors, which report part numbers and a device tree instead of a model name."""

from __future__ import annotations

from hopmeter.machine.kernel import UNKNOWN, Kernel

TREE = "proc/device-tree"
"""The directory of the device tree, the firmware's description of the board. ARM servers have ACPI instead of a device
tree."""
DESIGNS = {
    0xD03: "Cortex-A53",
    0xD04: "Cortex-A35",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD09: "Cortex-A73",
    0xD0A: "Cortex-A75",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse-N1",
    0xD0D: "Cortex-A77",
    0xD40: "Neoverse-V1",
    0xD41: "Cortex-A78",
    0xD42: "Cortex-A78AE",
    0xD44: "Cortex-X1",
    0xD46: "Cortex-A510",
    0xD47: "Cortex-A710",
    0xD48: "Cortex-X2",
    0xD49: "Neoverse-N2",
    0xD4B: "Cortex-A78C",
    0xD4D: "Cortex-A715",
    0xD4E: "Cortex-X3",
    0xD4F: "Neoverse-V2",
    0xD80: "Cortex-A520",
    0xD81: "Cortex-A720",
}
"""The names of ARM's own core designs, by part number. Core designs of other companies are shown as numbers."""
ARM = 0x41


def model(kernel: Kernel) -> str:
    """Return the designs of the processor's cores, preceded by the name of the board if a device tree contains it.

    Return `unknown` if the kernel reports neither a board nor core designs.
    """
    named = [text for text in (_board(kernel), _designs(kernel)) if text not in ("", UNKNOWN)]
    return ", ".join(named) or UNKNOWN


def _board(kernel: Kernel) -> str:
    return kernel.text(f"{TREE}/model").strip("\0")


def _designs(kernel: Kernel) -> str:
    pairs = zip(_numbers(kernel, "CPU implementer"), _numbers(kernel, "CPU part"), strict=False)
    return " and ".join(dict.fromkeys(_design(*pair) for pair in pairs))


def _numbers(kernel: Kernel, name: str) -> list[int]:
    """Return the values of a hexadecimal or decimal field of /proc/cpuinfo, one value per core."""
    fields = (line.partition(":") for line in kernel.text("proc/cpuinfo").splitlines())
    return [int(value, 16) for key, _, value in fields if key.strip() == name]


def _design(implementer: int, part: int) -> str:
    if implementer == ARM and part in DESIGNS:
        return DESIGNS[part]
    return f"implementer {implementer:#04x} part {part:#05x}"


def virtualisation(kernel: Kernel) -> str:
    """Return the name of the hypervisor if a device tree names one, `none` if the device tree describes a board, and
    otherwise `unknown`."""
    named = kernel.text(f"{TREE}/hypervisor/compatible").strip("\0")
    if named != UNKNOWN:
        return next((name for name in ("kvm", "xen", "vmware") if name in named), "yes")
    if _board(kernel) == "linux,dummy-virt" or kernel.matching(f"{TREE}/fw-cfg@*"):
        return "kvm"
    return UNKNOWN if _board(kernel) == UNKNOWN else "none"
