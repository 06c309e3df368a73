"""A client that is generated from the description works, as the page about it says."""

import httpx

from tests.support.docs.pages import blocks
from tests.support.service.served import served
from tests.support.typescript import generator

PAGE = "how-to/generate-a-client.md"
WRONG = """
import { type EventView, type NewReport } from "./client/index.js";

export function show(event: EventView): NewReport {
  // @ts-expect-error: a game that was decided has no player
  if (event.kind === "decided") console.log(event.body.player);
  // @ts-expect-error: no kind of event is called so
  if (event.kind === "promoted") console.log(event);
  // @ts-expect-error: no outcome is called so
  return { outcome: "won" };
}
"""


def test_a_generated_typescript_client_proposes_and_reports(tmp_path):
    (program,), (printed, _) = blocks(PAGE, "ts"), blocks(PAGE, "text")
    with served(str(tmp_path / "pools.db")) as url:
        generator.generate(httpx.get(f"{url}/openapi.json").json(), tmp_path)
        text = program.text.replace("http://localhost:8000", url)
        (tmp_path / program.title).write_text(text)
        (tmp_path / "wrong.ts").write_text(WRONG)
        generator.compile(tmp_path)  # refuses a line that expects an error and has none
        assert generator.run("built/play.js", folder=tmp_path) == printed.text
