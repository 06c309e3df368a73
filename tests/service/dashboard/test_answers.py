"""Answers of the dashboard over HTTP: headers, assets, refusals."""

import json
import re

import httpx
import pytest


def test_pages_are_protected_from_scripts_of_others(service, hostile):
    answer = httpx.get(f"{service.url}/pools/hostile")
    assert answer.status_code == 200
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    inline = re.findall(r"<script(?![^>]*\bsrc=)([^>]*)>", answer.text)
    assert inline == [' type="application/json" id="charts" data-live']
    markup = re.sub(r"<script.*?</script>", "", answer.text, flags=re.S)
    assert not re.search(r"<[^>]+\son\w+=", markup)
    data = re.search(r'id="charts" data-live>(.*?)</script>', answer.text, re.S)[1]
    assert sorted(json.loads(data)["rates"]["players"]) == sorted(hostile)


def test_a_page_that_the_browser_has_is_not_sent_again(service):
    tag = httpx.get(f"{service.url}/pools/hostile").headers["ETag"]
    answer = httpx.get(f"{service.url}/pools/hostile", headers={"If-None-Match": tag})
    assert (answer.status_code, answer.content) == (304, b"")


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_assets_are_compressed_where_possible_and_kept_by_the_browser(service, encoding):
    paths = re.findall(
        r'(?:src|href)="(/dashboard/[^"]+)"', httpx.get(f"{service.url}/pools/empty").text
    )
    assert [re.split(r"[/?]", path)[2] for path in paths] == [
        "page.css",
        "plotly.min.js",
        "charts.js",
        "page.js",
    ]
    for path in paths:
        answer = httpx.get(service.url + path, headers={"Accept-Encoding": encoding})
        assert answer.status_code == 200
        assert answer.headers.get("Content-Encoding", "identity") == encoding
        assert re.search(r"\?v=\d", path)
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert len(answer.text) > 2_000


@pytest.mark.parametrize("name", ["routes.py", "..%2froutes.py", "..%2f..%2fapp.py", ""])
def test_nothing_but_assets_is_sent(service, name):
    assert httpx.get(f"{service.url}/dashboard/{name}").status_code == 404


def test_assets_are_counted_under_one_route(service):
    for name in ("page.css", "none.css"):
        httpx.get(f"{service.url}/dashboard/{name}")
    counted = httpx.get(f"{service.url}/metrics").text
    for status in (200, 404):
        assert f'requests_total{{method="GET",route="/dashboard",status="{status}"}}' in counted


def test_another_host_is_refused_with_a_page(service):
    answer = httpx.get(service.url, headers={"Host": "evil.example"})
    assert answer.status_code == 403
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "evil.example" in answer.text
