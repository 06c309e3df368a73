"""A page of the dashboard in a browser, with what the browser said about it."""

import time


class LivePage:
    """An open page; `said` has the words of its console, `asked` the addresses it requested."""

    def __init__(self, browser, width=1280, scheme="light", **options):
        self.page = browser.new_page(
            viewport={"width": width, "height": 844}, color_scheme=scheme, **options
        )
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def go(self, url):
        """Open an address, and wait until the page is live."""
        self.page.goto(url)
        self.until("document.getElementById('live').dataset.state === 'live'")
        return self

    def until(self, condition):
        """Wait until a condition in JavaScript holds."""
        # Playwright's own wait is an eval, which the content security policy rightly refuses.
        deadline = time.monotonic() + 30
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, f"{condition}: {self.page.inner_text('body')}"
            self.page.wait_for_timeout(50)

    def value(self, selector):
        """Return the number that an element stands for."""
        return float(self.page.get_attribute(selector, "value"))

    def text(self, selector):
        """Return the text of an element."""
        return self.page.inner_text(selector)

    def texts(self, selector):
        """Return the texts of all elements, hidden ones too."""
        return self.page.eval_on_selector_all(selector, "all => all.map(e => e.textContent)")

    def values(self, selector):
        """Return the numbers that all elements stand for."""
        return self.page.eval_on_selector_all(selector, "all => all.map(e => +e.value)")
