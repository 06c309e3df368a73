"""Use cases: what can be asked of the service, each in one transaction."""
