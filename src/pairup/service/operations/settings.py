"""Settings of the service, from the command line or from environment variables."""

from __future__ import annotations

import ipaddress
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from pairup.errors import ServiceError


class Settings(BaseSettings):
    """Settings of the service; each is also an environment variable, for example PAIRUP_PORT."""

    model_config = SettingsConfigDict(env_prefix="PAIRUP_", extra="ignore", frozen=True)

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on, 0 for any free one.")
    database: str = Field("pairup.db", description="Database: an SQLite file, or postgresql://...")
    workers: int = Field(
        1, ge=1, le=256, description="Number of processes; more than one need PostgreSQL."
    )
    keys: Literal["auto", "required", "off"] = Field(
        "auto",
        description="Whether API keys are required; auto: required unless the service listens on "
        "loopback.",
    )
    max_body_bytes: int = Field(
        4_000_000, ge=1_000, description="Maximum size of a request's body, in bytes."
    )
    max_players: int = Field(10_000, ge=2, description="Maximum number of players in a pool.")
    max_outcomes: int = Field(10_000, ge=1, description="Maximum number of reports in a batch.")
    max_apart: int = Field(
        10_000, ge=0, description="Maximum number of couples to keep apart in a proposal."
    )
    max_page_items: int = Field(1_000, ge=1, description="Maximum number of items on a page.")
    max_couples: int = Field(
        20_000, ge=1, description="Maximum number of couples in an answer with estimates."
    )
    snapshot_every: int = Field(500, ge=1, description="Events between two snapshots of a pool.")
    threads: int = Field(
        200,
        ge=2,
        le=10_000,
        description="Requests worked on at once; at most half of them wait for one pool.",
    )
    wait_s: float = Field(
        20.0, gt=0, description="Maximum time that a request waits for its pool, in seconds."
    )
    cached_pools: int = Field(64, ge=1, description="Maximum number of pools kept in memory.")
    sweep_s: float = Field(1.0, gt=0, description="Seconds between two searches for expired games.")
    poll_s: float = Field(
        0.5, gt=0, description="Seconds between two searches for events to stream."
    )
    keep_answers_s: float = Field(
        86_400.0, gt=0, description="Seconds for which idempotent answers are kept."
    )
    graceful_s: int = Field(
        20, ge=1, description="Seconds that requests have to finish at shutdown."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level that is logged."
    )

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def needs_keys(self) -> bool:
        """Whether every request needs an API key."""
        return self.keys == "required" or (self.keys == "auto" and not self.on_loopback)

    def check(self) -> None:
        """Refuse settings that contradict each other."""
        if self.keys == "off" and not self.on_loopback:
            raise ServiceError(
                f"without API keys the service listens on loopback only, got host {self.host!r}: "
                "give --host 127.0.0.1, or make a key with `pairup keys create` and leave out keys"
            )
        if self.workers > 1 and not self.database.startswith("postgres"):
            raise ServiceError(
                f"{self.workers} processes need PostgreSQL, got the database {self.database!r}: "
                "give --workers 1, or --database postgresql://user@host/name"
            )


def read_settings(**given: object) -> Settings:
    """Read the settings; values given that are not None take precedence over the environment."""
    try:
        known = {name: value for name, value in given.items() if value is not None}
        settings = Settings(**known)  # type: ignore[arg-type] # pydantic checks them
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise ServiceError(
            f"the setting {name} cannot be {first['input']!r}, {first['msg']}: correct it, or the "
            f"variable PAIRUP_{name.upper()}"
        ) from None
    settings.check()
    return settings
