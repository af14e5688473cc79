"""Place the processes of a cell on hosts and cores, and find out how hosts reach each other."""
