"""What every kernel stands on: compilation, randomness, a logarithm, step dispatch, the loop."""
