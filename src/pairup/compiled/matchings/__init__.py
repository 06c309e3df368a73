"""Matchings of greatest weight: dense, on graphs, and on two sides."""
