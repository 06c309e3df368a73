"""Draw docs/images/dashboard.png: a service, simulated players, and its page in Chromium.

python -m scripts.figures.dashboard
"""

import itertools
import tempfile
from pathlib import Path

from pairup import Problem
from pairup.client import Client
from pairup.client.demo import Crowd, Habits, Pace, Simulation
from tests.support.browser import chromium
from tests.support.service.running import Running

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
LAW = (0.7, 0.7)
HABITS = Habits(churn=0.002, late=0.02, twice=0.01, contradict=0.01)


def main() -> None:
    """Play 450 rounds, and take the picture in the middle of the next one."""
    rates = Problem.random(24, seed=0, distribution=LAW).rates.tolist()
    with tempfile.TemporaryDirectory() as folder:
        running = Running(Path(folder))
        try:
            with Client(running.url) as client:
                pace = Pace(lifetime_s=0.2)
                simulation = Simulation(client, "chess", Crowd(rates, LAW), HABITS, pace)
                list(itertools.islice(simulation, 450))
                client.change_pool("chess", lifetime_s=60)
                client.propose("chess")
            _picture(f"{running.url}/pools/chess", IMAGES / "dashboard.png")
        finally:
            running.stop()


def _picture(url: str, path: Path) -> None:
    with chromium.browser() as browser:
        page = browser.new_page(viewport={"width": 1100, "height": 1000})
        page.goto(url)
        page.wait_for_selector("#live[data-state=live]")
        page.wait_for_selector("[data-chart=couples] .heatmaplayer image")
        page.screenshot(path=path, full_page=True)


if __name__ == "__main__":
    main()
