"""Experiments: TOML files cut into work units, played anywhere, kept as Parquet."""
