"""Text for numbers, conditions, hosts, flows and changes, shared by the page and the terminal."""
