"""Words for numbers, conditions, hosts, flows and changes, which the page and the terminal share."""
