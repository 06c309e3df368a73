"""Combinatorial policies: optimism or a draw for each couple, and the exact best matching."""
