"""Pages for everyone: contrast, keyboard, phones, light and dark."""

import itertools

import pytest

from tests.support.browser.contrast import contrast

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")


@pytest.mark.parametrize(
    ("path", "width", "scheme"),
    [
        *itertools.product(["/pools/history"], WIDTHS, SCHEMES),
        *(
            (path, *look)
            for path in ("/", "/pools/empty", "/pools/crowd", "/pools/hostile", "/pools/none")
            for look in zip(WIDTHS, SCHEMES, strict=True)
        ),
    ],
)
def test_every_page_fits_its_width_and_has_contrast(service, opened, path, width, scheme):
    shown = opened(width, scheme).go(service.url + path)
    page = shown.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        "[...document.querySelectorAll('h1, h2, p, .card, .scroll, .tiles > div, .chart svg')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"
    )
    assert outside == []
    for selector in ("body", ".brand", "#live", "footer p", "a", ".soft", "summary"):
        if page.query_selector(selector):
            assert contrast(page, selector) > 4.5, selector
    missing = "status of 404 (Not Found)"
    assert [said for said in shown.said if missing not in said or path != "/pools/none"] == []
    assert {url.split("/")[2] for url in shown.asked if url.startswith("http")} == {
        service.url.split("/")[2]
    }
    assert page.inner_text("main h1").strip()


def test_charts_follow_a_change_of_colour_scheme(service, opened):
    shown = opened().go(f"{service.url}/pools/history")
    colour = "document.querySelector('[data-chart=rates]').data[0].marker.color"
    light = shown.page.evaluate(colour)
    shown.page.emulate_media(color_scheme="dark")
    shown.until(f"{colour} !== '{light}'")


def test_everything_is_reached_by_keyboard(service, opened):
    shown = opened().go(f"{service.url}/pools/history")
    page, reached = shown.page, []
    for _ in range(40):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => { const e = document.activeElement, box = e.getBoundingClientRect();
                return [e.tagName, e.textContent.trim().slice(0, 30) || e.value || e.ariaLabel,
                    getComputedStyle(e).outlineStyle, box.width > 0 && box.left >= 0]; }"""
        )
        if found[0] == "BODY":
            break
        reached.append(found)
        if found[0] == "SUMMARY":
            page.keyboard.press("Enter")
    assert all(each[2] == "solid" and each[3] for each in reached), reached
    words = [each[1] for each in reached]
    assert words[:4] == ["Skip to the content", "pairup", "Pools", "API"]
    assert [each[0] for each in reached].count("SUMMARY") == 4
    assert "proposed" in words  # the group of radio buttons
    regions = page.evaluate("document.querySelectorAll('.scroll').length")
    assert [each[0] for each in reached].count("DIV") == regions == 5
    assert page.evaluate("[...document.querySelectorAll('details')].every(e => e.open)")


def test_the_skip_link_leads_to_the_content(service, opened):
    shown = opened().go(f"{service.url}/pools/history")
    shown.page.keyboard.press("Tab")
    shown.page.keyboard.press("Enter")
    assert shown.page.evaluate("document.activeElement.id") == "main"


def test_a_phone_has_room_for_the_tables(service, opened):
    shown = opened(390).go(service.url)
    box = "document.querySelector('#pools .scroll')"
    assert shown.page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
    shown.go(f"{service.url}/pools/history")
    box = "document.querySelector('#open-games .scroll')"
    assert shown.page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
    lines = shown.page.eval_on_selector_all(
        "#open-games bdi", "all => all.map(e => e.getClientRects().length)"
    )
    assert set(lines) == {1}
    shown.go(f"{service.url}/pools/crowd")
    titles = "[data-chart=couples] .xtitle, [data-chart=couples] .ytitle"
    shown.page.wait_for_selector(titles, state="attached")  # drawn after the page has come
    assert shown.texts(titles) == ["players, best first"] * 2
