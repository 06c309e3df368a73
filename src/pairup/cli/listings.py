"""The commands that list what there is: policies, problems."""

from __future__ import annotations

from pairup.cli.app import AsJson, app
from pairup.cli.output import print_rows


@app.command()
def policies(as_json: AsJson = False) -> None:
    """List the policies and their options.

    Example: pairup policies --json
    """
    from pairup.policies import describe_policies

    print_rows(describe_policies(), ("name", "options", "about"), as_json)


@app.command()
def problems(as_json: AsJson = False) -> None:
    """List the families of problems and their parameters.

    Example: pairup problems
    """
    from pairup.experiments.families import describe_families

    print_rows(describe_families(), ("family", "parameters", "about"), as_json)
