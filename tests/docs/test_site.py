"""The site builds strictly, reaches every page, and every link in it leads somewhere."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest
import yaml

import pairup
from scripts.reference import PAGES
from tests.support.paths import DOCS, ROOT, SOURCES

CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
# These are not an interface for other programs.
LAYERS_WITHOUT_A_PAGE = {
    "figure_axes",
    "html_table",
    "checks",
    "cli",
    "compiled",
    "public",
    "service",
    "saved_arrays",
    "side_process",
}


class Page(HTMLParser):
    """The links, the anchors and the fetched files of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.fetched = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        fetched = found.get("src") or (found.get("href") if tag == "link" else None)
        if fetched:
            self.fetched.append(fetched)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site in a folder of its own; returns its pages by their path."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(DOCS, root / "docs")
    (root / "src").symlink_to(SOURCES)
    shutil.copy(ROOT / "mkdocs.yml", root)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    folder = root / CONFIG["site_dir"]
    found = sorted(folder.rglob("*.html"))
    return folder, {path.relative_to(folder).as_posix(): Page(path.read_text()) for path in found}


def listed(entries):
    """Return the files of a navigation, in its order."""
    for entry in entries:
        value = entry if isinstance(entry, str) else next(iter(entry.values()))
        yield from [value] if isinstance(value, str) else listed(value)


def test_every_page_is_in_the_navigation_once():
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    assert sorted(listed(CONFIG["nav"])) == pages


def test_every_page_is_built_and_has_content(site):
    folder, _ = site
    for page in listed(CONFIG["nav"]):
        stem = page.removesuffix("index.md") if page.endswith("index.md") else page[:-3] + "/"
        assert len((folder / stem / "index.html").read_text()) > 5_000, page


def test_every_link_and_anchor_leads_somewhere(site):
    folder, pages = site
    broken = []
    for name, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(link)
            if re.match("[a-z]+:", target):
                continue
            path = unquote(urljoin(f"/{name}", target)).removeprefix("/")
            path += "index.html" if path.endswith("/") or not path else ""
            known = (folder / path).exists()
            if not known or (anchor and path in pages and anchor not in pages[path].anchors):
                broken.append((name, link))
    assert not broken


def test_the_site_fetches_nothing_from_elsewhere(site):
    _, pages = site
    for name, page in pages.items():
        assert not [each for each in page.fetched if re.match("([a-z]+:)?//", each)], name


def test_every_picture_is_there_and_is_used(site):
    folder, pages = site
    used = set()
    for name, page in pages.items():
        for each in page.fetched:
            path = (folder / name).parent.joinpath(unquote(each.partition("?")[0])).resolve()
            used.add(path)
            if not each.startswith("data:"):
                assert path.exists() or each.startswith("/"), (name, each)
    pictures = {path.resolve() for path in (folder / "images").iterdir()}
    assert {path.name for path in pictures - used} == set()


def test_every_public_name_is_in_the_reference_of_the_api(site):
    _, pages = site
    anchors = set().union(*(p.anchors for name, p in pages.items() if "reference/api" in name))
    for name in pairup.__all__:
        thing = getattr(pairup, name)
        if hasattr(thing, "__qualname__"):
            assert f"{thing.__module__}.{thing.__qualname__}" in anchors, name


def test_every_package_has_a_page_in_the_reference_of_the_api():
    text = "".join(path.read_text() for path in (DOCS / "reference" / "api").glob("*.md"))
    documented = set(re.findall(r"^::: pairup\.(\w+)", text, re.MULTILINE))
    found = {path.stem for path in Path(pairup.__file__).parent.glob("[a-z]*")}
    assert found - {"py"} == documented | LAYERS_WITHOUT_A_PAGE


def written_by_hand(path):
    """Say whether a page is written neither from the code nor from a notebook."""
    made = path.relative_to(DOCS).as_posix().removeprefix("reference/") in PAGES
    return not made and not path.with_suffix(".ipynb").exists()


def prose(path):
    return re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.S).splitlines()


@pytest.mark.parametrize(
    "path", list(filter(written_by_hand, sorted(DOCS.rglob("*.md")))), ids=lambda path: path.stem
)
def test_lines_wrap_at_100_characters(path):
    """Except for tables and code."""
    long = [line for line in prose(path) if len(line) > 100 and not line.startswith("|")]
    assert long == []


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.stem)
def test_every_row_belongs_to_a_table_with_a_head_and_as_many_cells(path):
    """A blank line ends a table: rows after it would be shown as text."""
    table = re.compile(r"(?:^\|.*\n)+", re.M)
    for rows in table.findall("\n".join(prose(path)) + "\n"):
        head, line, *others = (re.sub(r"\\\||`[^`]*`", "", row) for row in rows.splitlines())
        assert re.fullmatch(r"\|(?: ?:?-+:? ?\|)+", line), rows
        assert {row.count("|") for row in (head, *others)} == {line.count("|")}, rows
