"""Tests with the lowest versions of libraries that are allowed: `make test-lowest`."""
