"""Matchmaking: the rules of a pool, and whom of the players who wait they give a game."""
