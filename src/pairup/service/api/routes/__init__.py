"""Routes: thin, each a command or a view of the service."""
