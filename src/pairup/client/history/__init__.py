"""History: games of the past in a file, and their import into a pool of a service."""

from pairup.client.history.chunks import BadRow
from pairup.client.history.importing import BadRowsError, ImportSummary, import_history

__all__ = ["BadRow", "BadRowsError", "ImportSummary", "import_history"]
