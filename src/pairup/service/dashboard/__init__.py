"""The dashboard: pages about pools, made of the same views that the API answers with."""

from pairup.service.dashboard.routes import router

__all__ = ["router"]
