"""Pages of the documentation from the notebooks in docs/tutorials/notebooks.

    python -m scripts.notebooks

Runs each notebook and writes a page beside it, with what its cells printed, showed and drew. A
notebook is kept without outputs, so that a change of it is easy to read.
"""

import base64
import os
import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
_SECONDS = 120  # for one cell


def run(path):
    """Run a notebook from its first cell to its last; raises where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    # Pictures are drawn by the kernel's own backend, whatever this process has chosen.
    environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"}
    # By files instead of ports, which other people on the machine could listen to.
    config = Config(KernelManager={"transport": "ipc"})
    NotebookClient(
        notebook, kernel_name="python3", timeout=_SECONDS, coalesce_streams=True, config=config
    ).execute(env=environment)
    return notebook


def as_page(notebook, name):
    """Return a notebook that was run as Markdown, and its pictures by their file names."""
    parts, pictures = [], {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            parts.append(_output(output, name, pictures))
    source = f"*This page is the notebook [{name}.ipynb]({name}.ipynb), run from top to bottom.*"
    title, *others = parts
    return "\n\n".join(filter(None, [title, source, *others])) + "\n", pictures


def _output(output, name, pictures):
    """Return an output as Markdown; of the forms that a cell offers, the richest."""
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```" if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        file = f"{name}-{len(pictures) + 1}.png"
        pictures[file] = base64.b64decode(data["image/png"])
        return f"![Drawn by the cell above]({file})"
    if "<progress" in data.get("text/html", ""):
        return ""  # a bar at its end tells a reader nothing
    if "text/html" in data:
        # An empty line would end the block of HTML.
        return re.sub(r"\n\s*\n", "\n", data["text/html"].strip())
    return f"```text\n{data['text/plain']}\n```"


def main():
    """Run all notebooks and write their pages and pictures."""
    for path in NOTEBOOKS:
        page, pictures = as_page(run(path), path.stem)
        path.with_suffix(".md").write_text(page, "utf-8")
        for file, data in pictures.items():
            (FOLDER / file).write_bytes(data)
        print(f"{path.stem}: {len(pictures)} pictures")


if __name__ == "__main__":
    main()
