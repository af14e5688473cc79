"""A run's answers in sentences: what is best, by how much, what is open, and which command decides it."""
