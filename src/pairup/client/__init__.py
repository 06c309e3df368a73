"""Clients of the service, `Client` and `AsyncClient`, and simulated players who use one.

Needs the extra `client`: pip install "pairup[client]".
"""

try:
    import httpx as _httpx  # noqa: F401 - only whether it is installed
    import pydantic as _pydantic  # noqa: F401 - as above
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"pairup.client needs {error.name}: pip install 'pairup[client]'", name=error.name
    ) from None

from pairup.client.client import AsyncClient, Client, Patience, UnreachableError
from pairup.client.requests import RefusedError
from pairup.service.api.schemas.games import NewGameReport

__all__ = ["AsyncClient", "Client", "NewGameReport", "Patience", "RefusedError", "UnreachableError"]
