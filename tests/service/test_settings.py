"""Settings come from the environment, where others put variables too."""

import pytest

from pairup.errors import ServiceError
from pairup.service.settings import Settings, read_settings

# What Kubernetes tells a container of the services `pairup` and `pairup-db` in its namespace.
OF_SERVICES = {
    "PAIRUP_SERVICE_HOST": "10.0.0.1",
    "PAIRUP_SERVICE_PORT": "8000",
    "PAIRUP_SERVICE_PORT_HTTP": "8000",
    "PAIRUP_PORT": "tcp://10.0.0.1:8000",
    "PAIRUP_PORT_8000_TCP": "tcp://10.0.0.1:8000",
    "PAIRUP_PORT_8000_TCP_PROTO": "tcp",
    "PAIRUP_PORT_8000_TCP_PORT": "8000",
    "PAIRUP_PORT_8000_TCP_ADDR": "10.0.0.1",
    "PAIRUP_DB_SERVICE_HOST": "10.0.0.2",
    "PAIRUP_DB_SERVICE_PORT": "5432",
    "PAIRUP_DB_PORT": "tcp://10.0.0.2:5432",
    "PAIRUP_DB_PORT_5432_TCP_ADDR": "10.0.0.2",
}


@pytest.fixture(autouse=True)
def in_kubernetes(monkeypatch):
    for name, value in OF_SERVICES.items():
        monkeypatch.setenv(name, value)


def test_addresses_of_services_in_kubernetes_are_not_settings(monkeypatch):
    assert read_settings() == Settings.model_construct()
    assert read_settings(port=8123).port == 8123
    monkeypatch.setenv("PAIRUP_PORT", "8456")
    assert read_settings().port == 8456


@pytest.mark.parametrize(
    ("name", "value"),
    [("PAIRUP_PROT", "80"), ("PAIRUP_SERVICES", "2"), ("PAIRUP_PORT", "10.0.0.1")],
)
def test_what_is_neither_a_setting_nor_of_a_service_is_refused(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ServiceError, match=name):
        read_settings()
