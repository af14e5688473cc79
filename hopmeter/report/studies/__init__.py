"""Studies that hopmeter's scenarios repeat: the published values and claims, compared with the user's results."""
