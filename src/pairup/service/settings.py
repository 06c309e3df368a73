"""Settings of the service, from the command line or from environment variables.

A bound on what a request controls is a setting, declared with the response when it is exceeded;
the page of the settings lists them.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from pairup.errors import ServiceError, did_you_mean
from pairup.policies import import_policy

PREFIX = "PAIRUP_"
# Variables with this prefix that are not settings of the service.
OTHER_VARIABLES = {"PAIRUP_KEY": "API key of `pairup simulate-players`, `import` and `learner`."}

# Kubernetes tells containers of each service in the namespace by such variables: of one called
# pairup, PAIRUP_PORT=tcp://10.0.0.1:8000 and more.
_OF_SERVICE = re.compile(r"\w*_SERVICE_(HOST|PORT(_\w+)?)|\w*_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?")
_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


def _bound(default: Any, description: str, exceeded: str, **rules: Any) -> Any:
    """Declare a bound, and what happens to a request that exceeds it."""
    return Field(
        default, description=description, json_schema_extra={"exceeded": exceeded}, **rules
    )


def _size(default: int, what: str, ge: int = 1) -> Any:
    """Declare a bound on the size of a request."""
    return _bound(default, f"Maximum {what}.", "413 `too-large`", ge=ge)


class Settings(BaseSettings):
    """Settings of the service; each is also an environment variable, for example PAIRUP_PORT."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on, 0 for any free one.")
    database: str = Field("pairup.db", description="Database: an SQLite file, or postgresql://...")
    workers: int = Field(
        1, ge=1, le=256, description="Number of processes; more than one need PostgreSQL."
    )
    peer_host: str = Field(
        "127.0.0.1",
        description="Address at which other processes on the same PostgreSQL reach this one.",
    )
    peer_port: int = Field(
        0,
        ge=0,
        le=65_000,
        description="Port for that, 0 for any free one; workers take the ones after it.",
    )
    misdirected: Literal["forward", "redirect"] = Field(
        "forward",
        description="What becomes of a request for a pool that another process serves: it is "
        "forwarded, or answered 307 with that process's address.",
    )
    webhook_url: str = Field(
        "",
        description="Address that is told of games that expired and of pools that need attention; "
        "empty: nobody is.",
    )
    webhook_secret: str = Field(
        "",
        repr=False,
        description="Secret by which what is sent there is signed: whsec_ and 24 to 64 bytes in "
        "base64.",
    )
    keys: Literal["auto", "required", "off"] = Field(
        "auto",
        description="Whether API keys are required; auto: required unless the service listens on "
        "loopback.",
    )
    policies: str = Field(
        "",
        description="Third-party policies that pools may use: module:Class, separated by commas; "
        "modules are also found in the current folder.",
    )
    max_body_bytes: int = _size(4_000_000, "size of a request's body, in bytes", 1_000)
    max_proposal_bytes: int = _size(
        40_000_000, "size of the body of a proposal, which may list who may meet, in bytes", 1_000
    )
    max_bodies_bytes: int = _bound(
        200_000_000,
        "Maximum size of all bodies together that have arrived and are not answered, in bytes.",
        "503 `too-much-at-once`",
        ge=1_000,
    )
    max_header_bytes: int = _bound(
        16_384,
        "Maximum size of the address and headers of a request, in bytes.",
        "431 `headers-too-large`, or 400 and the connection closes",
        ge=1_000,
        le=1_000_000,
    )
    max_pools: int = _bound(
        10_000, "Maximum number of pools, without deleted ones.", "409 `too-many-pools`", ge=1
    )
    max_players: int = _bound(
        100_000, "Maximum number of players in a pool.", "409 `pool-full`", ge=2
    )
    max_player_changes: int = _size(10_000, "number of players in a batch of changes")
    max_outcomes: int = _size(10_000, "number of reports in a batch")
    max_apart: int = _size(10_000, "number of couples to keep apart in a proposal", 0)
    max_allowed: int = _size(
        1_000_000, "number of couples, or of players in groups, that a proposal allows to meet", 0
    )
    max_import_rows: int = _size(100_000, "number of games of the past that are imported at once")
    max_page_items: int = _bound(
        1_000, "Maximum number of items on a page.", "422 `invalid-request`", ge=1
    )
    max_couples: int = _bound(
        20_000,
        "Maximum number of couples in a response with estimates.",
        "422 `invalid-request`",
        ge=1,
    )
    max_requests_per_s: float = _bound(
        1_000.0,
        "Mean number of requests per second of an API key; without keys, of an address.",
        "429 `too-many-requests`",
        gt=0,
    )
    max_events_per_s: float = _bound(
        20_000.0,
        "Mean number of events per second that an API key adds to logs; without keys, an address. "
        "An event about several players or games counts as many.",
        "429 `too-many-events`",
        gt=0,
    )
    burst_s: float = Field(
        60.0, gt=0, description="Seconds over which the two means above are taken."
    )
    max_replies: int = _bound(
        1_000_000,
        "Maximum number of idempotent replies kept for an API key.",
        "429 `too-many-replies`",
        ge=1,
    )
    max_replies_bytes: int = _bound(
        500_000_000,
        "Maximum size of the idempotent replies kept for an API key, in bytes, compressed.",
        "429 `too-many-replies`",
        ge=1_000,
    )
    max_streams: int = _bound(
        100, "Maximum number of open streams of events.", "503 `too-many-streams`", ge=1
    )
    max_connections: int = _bound(
        1_000,
        "Maximum number of open connections; at most what the limit on open files leaves.",
        "the connection that has waited longest for a request closes; a new one waits if there is "
        "none",
        ge=8,
    )
    header_s: float = _bound(
        10.0,
        "Seconds in which the address and headers of a request must arrive.",
        "408 `too-slow`, and the connection closes",
        gt=0,
    )
    body_s: float = _bound(
        30.0,
        "Seconds in which the body of a request must arrive.",
        "408 `too-slow`, and the connection closes",
        gt=0,
    )
    send_s: float = _bound(
        30.0,
        "Seconds for which a response may wait for a client that does not read it.",
        "the connection closes",
        gt=0,
    )
    idle_s: float = _bound(
        60.0,
        "Seconds for which a connection may wait for the next request.",
        "the connection closes",
        gt=0,
    )
    min_free_bytes: int = _bound(
        100_000_000,
        "Room on the disk of an SQLite file, in bytes, below which nothing more is stored.",
        "507 `store-full`; what only reads is answered",
        ge=0,
    )
    max_warnings_per_s: int = _bound(
        10,
        "Maximum number of warnings or errors of one kind per second in the log.",
        "counted, not written",
        ge=1,
    )
    max_metric_pools: int = _bound(
        50,
        "Maximum number of pools with metrics of their own.",
        "of the others only the time of proposals is shown, as that of the pool `_other`",
        ge=0,
    )
    snapshot_every: int = Field(
        5_000,
        ge=1,
        description="Minimum number of changes of players and games between two snapshots of a "
        "pool; a large pool is saved less often.",
    )
    threads: int = Field(
        200,
        ge=2,
        le=10_000,
        description="Maximum number of requests handled at once; at most half of them wait for one "
        "pool.",
    )
    wait_s: float = _bound(
        20.0,
        "Maximum time that a request waits for its pool, in seconds.",
        "503 `pool-busy`",
        gt=0,
    )
    cached_pools: int = Field(64, ge=1, description="Maximum number of pools kept in memory.")
    sweep_s: float = Field(1.0, gt=0, description="Seconds between two searches for expired games.")
    poll_s: float = Field(
        2.0,
        gt=0,
        description="Seconds between two looks for what no notice tells streams of: changes by "
        "another process on the same file, and keys that were revoked.",
    )
    keep_replies_s: float = Field(
        86_400.0, gt=0, description="Seconds for which idempotent replies are kept."
    )
    graceful_s: int = _bound(
        20,
        "Seconds that requests have to finish at shutdown, and pools to be saved after it.",
        "the process ends",
        ge=1,
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level that is logged."
    )

    @model_validator(mode="before")
    @classmethod
    def _leave_out_addresses(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if not _ADDRESS.match(str(value))}

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        hosts = [self.host, *([self.peer_host] if self.on_server else [])]
        return all(map(_is_loopback, hosts))

    @property
    def on_server(self) -> bool:
        """Whether the database is a server, which other processes share."""
        return self.database.startswith("postgres")

    @property
    def webhook_key(self) -> bytes:
        """The bytes of the secret of the webhook; none if it cannot be read."""
        name, _, encoded = self.webhook_secret.partition("_")
        with suppress(ValueError):
            return base64.b64decode(encoded, validate=True) if name == "whsec" else b""
        return b""

    @property
    def needs_keys(self) -> bool:
        """Whether every request needs an API key."""
        return self.keys == "required" or (self.keys == "auto" and not self.on_loopback)

    def allow_policies(self) -> None:
        """Import the third-party policies that pools may use, or refuse with a `PolicyError`."""
        for name in filter(None, map(str.strip, self.policies.split(","))):
            import_policy(name, Path.cwd())

    def check(self) -> None:
        """Refuse settings that contradict each other."""
        if self.keys == "off" and not self.on_loopback:
            raise ServiceError(
                f"without API keys the service listens on loopback only, got host {self.host!r}: "
                "give --host 127.0.0.1, or make a key with `pairup keys create` and leave out keys"
            )
        if self.workers > 1 and not self.on_server:
            raise ServiceError(
                f"{self.workers} processes need PostgreSQL, got the database {self.database!r}: "
                "give --workers 1, or --database postgresql://user@host/name"
            )
        if self.webhook_url:
            self._check_webhook()

    def _check_webhook(self) -> None:
        if not re.match(r"https?://[^/]", self.webhook_url):
            raise ServiceError(
                f"the address of a webhook begins with https:// or http://, got "
                f"{self.webhook_url!r}: correct PAIRUP_WEBHOOK_URL"
            )
        if not 24 <= len(self.webhook_key) <= 64:
            raise ServiceError(
                "the secret of a webhook is whsec_ and 24 to 64 bytes in base64: set "
                'PAIRUP_WEBHOOK_SECRET="whsec_$(openssl rand -base64 32)", and the same where '
                "messages are received"
            )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_settings(**given: object) -> Settings:
    """Read the settings; values given that are not None take precedence over the environment."""
    _check_variables()
    try:
        known = {name: value for name, value in given.items() if value is not None}
        settings = Settings(**known)  # type: ignore[arg-type] # pydantic checks them
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise ServiceError(
            f"the setting {name} cannot be {first['input']!r}, {first['msg']}: correct it, or the "
            f"variable {PREFIX}{name.upper()}"
        ) from None
    settings.check()
    return settings


def _check_variables() -> None:
    """Refuse variables of the environment that look like settings and are not."""
    known = list(Settings.model_fields)
    for variable in sorted(os.environ):
        name = variable.upper().removeprefix(PREFIX).lower()
        other = not variable.upper().startswith(PREFIX) or variable.upper() in OTHER_VARIABLES
        other |= bool(_OF_SERVICE.fullmatch(variable) or _ADDRESS.match(os.environ[variable]))
        if not other and name not in known:
            raise ServiceError(
                f"the variable {variable} sets nothing, no setting is called {name!r}"
                f"{did_you_mean(name, known)}"
            )
