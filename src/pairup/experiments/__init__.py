"""Experiments: TOML files split into work units, played anywhere, kept as Parquet."""
