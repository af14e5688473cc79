"""Test hosts on one machine: network namespaces that share only a wire with planned delays and losses."""
