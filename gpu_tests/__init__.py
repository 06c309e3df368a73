"""Tests for a machine with an NVIDIA GPU: `make test-gpu`."""
