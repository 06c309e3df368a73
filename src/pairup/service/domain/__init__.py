"""The domain: pools change by events only, and know no clock, no network and no disk."""
