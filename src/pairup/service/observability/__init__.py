"""Observability: logs of what happens, and metrics of how often and how fast."""
