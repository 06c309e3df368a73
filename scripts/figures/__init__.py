"""Pictures of the documentation, each made by a module of its own."""
