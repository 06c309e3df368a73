"""Speed and memory, against the budget: `python -m benchmarks`."""
