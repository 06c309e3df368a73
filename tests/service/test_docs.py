"""The documentation of the service says what is so."""

import json
import re
import shlex

from tests.support.paths import DOCS

PAGE = (DOCS / "how-to/serve-pools.md").read_text()


def test_the_quick_start_works(lone):
    """Every curl of the quick start is sent, in its order, and answered as the page shows."""
    script = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    ids = {"one": "", "other": ""}
    sent = 0
    for line in script.splitlines():
        loop = re.match(r"for player in ([a-z ]+); do (.*); done", line)
        for name in loop[1].split() if loop else [""]:
            command = (loop[2] if loop else line).replace("$player", name)
            if not command.startswith("curl") or "stream" in command:
                continue
            method, path, body = _parsed(command, ids)
            answer = lone(method, path, json=body and json.loads(body))
            assert answer.is_success, (command, answer.text)
            sent += 1
            if path.endswith("matchings"):
                matching = answer.json()
                ids = dict(zip(ids, (game["id"] for game in matching["games"]), strict=True))
                shown = [tuple(sorted(game["players"])) for game in matching["games"]]
                assert (shown, matching["waiting"]) == ([("ann", "bob"), ("cyd", "dan")], ["eve"])
    assert sent == 12
    assert lone.stats()["feedback"]["repeated"] == 1


def _parsed(command, ids):
    for name, id in ids.items():
        command = command.replace(f"'${name}'", id).replace(f"${name}", id)
    words = shlex.split(command.partition("  #")[0])
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    path = next(word for word in words if word.startswith("$api")).replace("$api", "/v1")
    return method, path, words[words.index("--json") + 1] if "--json" in words else None
