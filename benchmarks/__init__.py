"""Speed and memory, measured against the budget: `python -m benchmarks`."""
