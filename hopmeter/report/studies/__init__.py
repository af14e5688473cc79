"""Studies that hopmeter's scenarios repeat: their published values and claims, compared with the user's results."""
