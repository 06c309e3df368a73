"""Parts that the states of policies are made of: how each is cleared, saved and loaded."""
