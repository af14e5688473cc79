"""Plan the cells of a workload over each transport: bridges, warm-up, message counts, recordings and priorities."""
