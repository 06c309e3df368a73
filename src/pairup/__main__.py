"""`python -m pairup` is the command line."""

from pairup.cli import main

main()
