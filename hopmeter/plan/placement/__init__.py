"""Place the processes of a cell on hosts and cores, and determine how hosts reach each other."""
