"""HTTP: routes, what is sent and answered, and how a refusal looks."""
