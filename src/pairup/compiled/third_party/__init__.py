"""Steps of third-party policies: compiled when they are first used, and never stale."""
