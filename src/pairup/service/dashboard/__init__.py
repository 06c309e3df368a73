"""The dashboard: pages about pools, made of the same views that the API sends."""

from __future__ import annotations

from fastapi import FastAPI

from pairup.service.dashboard.rendering import mount_assets
from pairup.service.dashboard.routes import router


def add_to(app: FastAPI) -> None:
    """Add the pages and their assets to the application."""
    app.include_router(router)
    app.router.routes.append(mount_assets())
