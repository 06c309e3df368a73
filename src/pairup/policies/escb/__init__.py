"""One joint upper confidence bound of a whole matching."""
