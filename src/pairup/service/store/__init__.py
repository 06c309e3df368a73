"""The store: an append-only log of events, and what follows from it, in SQLite or PostgreSQL."""

from pairup.service.store.database import Store
from pairup.service.store.transaction import Peer, PoolRow, Transaction

__all__ = ["Peer", "PoolRow", "Store", "Transaction"]
