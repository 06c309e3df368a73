"""States of policies as they are saved."""
