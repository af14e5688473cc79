"""Text for numbers, conditions, hosts, flows and changes, used on pages and in the terminal."""
