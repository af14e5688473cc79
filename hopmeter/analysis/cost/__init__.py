"""What messages cost: CPU, memory and stolen time; what limits the rate; and why the slowest messages are slow."""
