"""Test hosts on one machine: network namespaces that share a wire alone, with delays and losses by plan."""
