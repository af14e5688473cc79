"""The studies that hopmeter's scenarios repeat: their published figures and claims, held against a run's own."""
