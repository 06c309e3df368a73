"""Thompson sampling of one rate per player."""
