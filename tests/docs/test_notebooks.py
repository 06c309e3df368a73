"""The notebooks run from top to bottom, say what is true, and are shown as pages of the site."""

import re

import nbformat
import pytest

from scripts.notebooks import FOLDER, NOTEBOOKS, as_page, run
from tests.support.docs.pages import blocks

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@every_notebook
def test_a_notebook_runs_and_its_page_shows_what_it_gives(path):
    """In one test, because running it is what takes long."""
    notebook = run(path)  # a cell that fails, for example by an assertion, raises here
    assert_clean(notebook)
    assert_progress_is_shown(notebook)
    page, pictures = as_page(notebook, path.stem)
    assert path.with_suffix(".md").read_text("utf-8") == page, "run python -m scripts.notebooks"
    assert pictures
    for name, data in pictures.items():
        assert data.startswith(b"\x89PNG")
        assert (FOLDER / name).exists()


def assert_clean(notebook):
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    assert {each.output_type for each in outputs} <= {"stream", "display_data", "execute_result"}
    assert not [each for each in outputs if each.get("name") == "stderr"]


def assert_progress_is_shown(notebook):
    """Without ipywidgets, and without a warning that they are missing."""
    for cell in code_cells(notebook):
        bars = [text for text in map(str, cell.outputs) if "<progress" in text]
        assert bool(bars) == ("progress=True" in cell.source)
        for bar in bars:
            assert re.search(r'<progress value="1.0000" max="1"></progress> 100%', bar)


@every_notebook
def test_a_notebook_asserts_what_it_claims_and_is_kept_without_outputs(path):
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    assert sum("assert " in cell.source for cell in code_cells(stored)) >= 2
    for cell in code_cells(stored):
        assert cell.outputs == []
        assert cell.execution_count is None


def test_the_policies_of_the_notebook_are_those_of_the_guide_the_plain_one_first():
    files = {block.title: block.text.rstrip("\n") for block in blocks("how-to/add-a-policy.md")}
    stored = nbformat.read(FOLDER / "your-policy.ipynb", as_version=4)
    cells = [cell.source for cell in code_cells(stored)]
    assert cells[0] == files["sketch.py"]
    assert files["mine.py"] in cells[1:]


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]
