"""The application begins and ends in order."""

import asyncio
import time

from pairup.service.app import create_app
from pairup.service.pools.service import Service
from pairup.service.settings import Settings


def test_the_store_is_closed_after_the_warm_up_has_ended(tmp_path, monkeypatch):
    happened = []

    def warm_up(service, stopping):
        while not stopping():
            time.sleep(0.01)
        time.sleep(0.2)
        happened.append("warmed up")

    monkeypatch.setattr(Service, "warm_up", warm_up)
    monkeypatch.setattr(Service, "close", lambda service: happened.append("closed"))
    app = create_app(Settings(database=str(tmp_path / "pools.db")))

    async def live():
        async with app.router.lifespan_context(app):
            pass

    asyncio.run(live())
    app.state.service.store.close()
    assert happened == ["warmed up", "closed"]
