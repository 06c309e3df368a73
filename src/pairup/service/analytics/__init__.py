"""Numbers for people: what was learnt of players, and how well couples do."""
