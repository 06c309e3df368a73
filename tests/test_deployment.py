"""What `deploy` ships fits its schemas, and the settings and routes of the service.

`python -m benchmarks deployment` runs the build and nginx.
"""

import re

import kubernetes_validate
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft202012Validator

from pairup.service.api.openapi import describe
from pairup.service.settings import PREFIX, Settings
from tests.support.paths import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
(POD,) = (each["spec"]["template"]["spec"] for each in MANIFESTS if each["kind"] == "Deployment")
(CONTAINER,) = POD["containers"]
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
NGINX = (DEPLOY / "nginx.conf").read_text()
SETTINGS = Settings.model_construct()


def nginx(directive):
    """Return the numbers of a directive, in the order of the file."""
    return [int(each) for each in re.findall(rf"^\s*{directive} (\d+)\w?;", NGINX, re.M)]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: each["kind"])
def test_manifests_fit_the_schemas_of_kubernetes(manifest):
    kubernetes_validate.validate(manifest, "1.37", strict=True)


def test_the_compose_file_fits_its_schema():
    Draft202012Validator(get_builtin_schema("vendor.compose-spec")).validate(COMPOSE)


def test_every_variable_is_a_setting_that_the_service_accepts():
    given = dict(re.findall(rf"\b({PREFIX}\w+)=(\S+)", CONTAINERFILE))
    given |= {
        name: str(value)
        for service in COMPOSE["services"].values()
        for name, value in service.get("environment", {}).items()
        if name.startswith(PREFIX)
    }
    given |= {each["name"]: str(each.get("value", "10.0.0.7")) for each in CONTAINER["env"]}
    settings = {name.removeprefix(PREFIX).lower(): value for name, value in given.items()}
    assert settings.keys() <= Settings.model_fields.keys()
    Settings(**settings).check()


def test_processes_that_share_a_database_have_addresses_of_their_own():
    """On loopback, as by default, none would reach the owner of a pool in another container."""
    ours = {name: each for name, each in COMPOSE["services"].items() if each["image"] == "pairup"}
    assert len(ours) > 1
    for name, service in ours.items():
        assert service["environment"]["PAIRUP_PEER_HOST"] == name
    (host,) = (each for each in CONTAINER["env"] if each["name"] == "PAIRUP_PEER_HOST")
    assert host["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}


def test_probes_ask_what_the_service_answers():
    probes = [each for name, each in CONTAINER.items() if name.endswith("Probe")]
    asked = {each["httpGet"]["path"] for each in probes}
    checks = CONTAINERFILE + str(COMPOSE["services"]["pairup-1"]["healthcheck"])
    asked |= set(re.findall(r"127\.0\.0\.1:8000(/\w+)", checks))
    assert asked == {"/healthz", "/readyz"} <= describe(needs_keys=True)["paths"].keys()
    ports = {each["name"]: each["containerPort"] for each in CONTAINER["ports"]}
    assert ports.pop("http") == SETTINGS.port
    given = {each["name"]: each.get("value") for each in CONTAINER["env"]}
    assert ports == {"peers": int(given["PAIRUP_PEER_PORT"])}
    assert f"EXPOSE {SETTINGS.port}\n" in CONTAINERFILE


def test_one_process_after_the_other_is_replaced_when_the_one_before_is_ready():
    text = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    assert "up -d --wait --no-deps pairup-1 && docker compose up -d --wait --no-deps" in text
    for name in ("pairup-1", "pairup-2"):
        assert "/readyz" in COMPOSE["services"][name]["healthcheck"]["test"][-1]


def test_the_service_has_time_to_end():
    """It ends after twice `graceful_s` at the latest."""
    least = 2 * SETTINGS.graceful_s
    assert POD["terminationGracePeriodSeconds"] > least
    assert int(COMPOSE["services"]["pairup-1"]["stop_grace_period"].rstrip("s")) > least


def test_root_is_read_only_and_not_the_user():
    assert CONTAINER["securityContext"]["readOnlyRootFilesystem"]
    assert all(COMPOSE["services"][name]["read_only"] for name in ("pairup-1", "pairup-2", "proxy"))
    (user,) = re.findall(r"^USER (\d+)$", CONTAINERFILE, re.M)
    assert POD["securityContext"]["runAsUser"] == int(user) > 0


def test_the_image_has_what_it_copies_and_runs_the_steps_that_are_measured():
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.M)
    names = [name for line in copied for name in line.split()]
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text().splitlines()
    assert {f"!{name}" for name in names} <= set(ignored)
    assert "RUN /src/deploy/build.sh /opt/pairup $POLICIES" in CONTAINERFILE


def test_the_proxy_lets_through_what_the_service_takes():
    assert nginx("client_max_body_size")[0] * 2**20 >= SETTINGS.max_proposal_bytes
    upstream, clients = nginx("keepalive_timeout")
    assert upstream < SETTINGS.idle_s
    assert clients <= SETTINGS.idle_s
    assert SETTINGS.wait_s < nginx("proxy_read_timeout")[0]
