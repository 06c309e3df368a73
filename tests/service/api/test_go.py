"""A Go client that is generated from the description works, as the page about it says."""

import httpx

from tests.support.docs.pages import blocks
from tests.support.go import generator
from tests.support.service.served import served

PAGE = "how-to/generate-a-client.md"


def test_a_generated_go_client_proposes_and_reports(tmp_path):
    (program,), (_, printed) = blocks(PAGE, "go"), blocks(PAGE, "text")
    with served(str(tmp_path / "pools.db")) as url:
        generator.generate(httpx.get(f"{url}/openapi.json").json(), tmp_path)
        generator.go("mod", "init", "play", folder=tmp_path)
        text = program.text.replace("http://localhost:8000", url)
        (tmp_path / program.title).write_text(text)
        assert generator.go("vet", ".", folder=tmp_path) == ""
        assert generator.go("run", ".", folder=tmp_path) == printed.text
