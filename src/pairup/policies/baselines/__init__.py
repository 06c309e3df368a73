"""Baselines: what is reached with no knowledge, with all of it, and with the simplest rules."""
