"""What compiled steps share: flat arrays and NamedTuples only, no Python objects, no exceptions."""
