"""Pictures of the demo's pages for the documentation: `make generated` makes them where a browser is there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
os.chdir(ROOT)
sys.path.insert(0, str(ROOT))
os.environ.setdefault("SOURCE_DATE_EPOCH", "1795245600")  # as in generate.py

from tests.browser.chromium import chromium, is_there  # noqa: E402
from tests.browser.pages import write  # noqa: E402

FOLDER = ROOT / "docs" / "html"
_PLAYED = """const step = document.getElementById("step");
step.value = 19;
step.dispatchEvent(new Event("input"));
document.querySelector(".map").hidden = true;"""
#: Picture -> the page, what is done on it first, and how high it is at most.
PICTURES = {
    "schedule": ("schedule", "", 760),
    "node": ("preempt", "document.querySelector('.evicts button').click()", 760),
    "preempt": ("preempt", "", 800),
    "gate": ("gate", "", 760),
    "capacity": ("capacity", "", 760),
    "each": ("each", "", 900),
    "audit": ("audit", "", 760),
    "drain": (
        "drain",
        _PLAYED,
        860,
    ),
}


def main() -> int:
    """Make them all; 0 also where there is nothing to make them with, which it says."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        print("screenshots: Selenium is not there (make browser installs it): docs/html stays as it is")
        return 0
    if not is_there():
        print("screenshots: chromium or chromedriver is not there: docs/html stays as it is")
        return 0
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, chromium() as browser:
        for name, (page, script, most) in PICTURES.items():
            _, path = write(page, Path(folder))
            browser.open(path, width=1080)
            if script:
                browser.run(script)
            browser.picture(FOLDER / f"{name}.png", most=most)
            print(f"wrote docs/html/{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
