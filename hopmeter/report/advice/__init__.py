"""What a run advises: which transport to take, by how much it is better, what it costs, and when that changes."""
