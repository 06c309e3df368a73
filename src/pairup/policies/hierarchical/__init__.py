"""Thompson sampling of rates from which couples may deviate."""
