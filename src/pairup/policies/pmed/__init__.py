"""The exploration of the limit, at the estimates."""
