"""The matching of greatest weight in a general graph, exactly."""
