"""Words for numbers, conditions, hosts, flows and changes, the same in page and terminal."""
