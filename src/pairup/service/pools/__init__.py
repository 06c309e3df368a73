"""Use cases: what can be asked of the service. `service.Service` has a method for each."""
