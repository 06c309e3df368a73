"""Compiled steps: flat arrays and NamedTuples only, no Python objects, no exceptions."""
