"""Many replications side by side: on a GPU one per thread, with the bits of the CPU."""
