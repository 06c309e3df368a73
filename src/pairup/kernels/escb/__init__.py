"""ESCB: its steps, and the searches for a matching with the best joint index."""
