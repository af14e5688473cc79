"""On which hosts and cores the processes of a cell run, and how hosts reach each other."""
