"""Write the generated reference pages: `python -m scripts.reference`."""

from pathlib import Path

from scripts.reference import PAGES

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"

for name, page in PAGES.items():
    (FOLDER / name).write_text(page(), "utf-8")
