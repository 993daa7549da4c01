"""Chromium without a window, and axe-core: what it asks for, what it complains about, what a page holds."""

import base64
import hashlib
import io
import json
import os
import shutil
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

AXE = "4.10.3"
#: As the package's own metadata has it.
_AXE_SHA512 = "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kwhatif"


def is_there() -> bool:
    """Whether there is a browser to ask, with its driver."""
    return all(map(shutil.which, ("chromium", "chromedriver")))


def axe_core() -> str:
    """The script of axe-core, fetched once from the npm registry."""
    kept = _CACHE / f"axe-core-{AXE}.tgz"
    if not kept.exists():
        registry = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
        with urllib.request.urlopen(f"{registry}/axe-core/-/axe-core-{AXE}.tgz", timeout=60) as answer:
            found = answer.read()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(found)
    content = kept.read_bytes()
    if base64.b64encode(hashlib.sha512(content).digest()).decode() != _AXE_SHA512:
        kept.unlink()
        raise RuntimeError("what was fetched is not the axe-core that is asked for")
    with tarfile.open(fileobj=io.BytesIO(content)) as package:
        script = package.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


class Browser:
    """One window."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(
        self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False, script: bool = True
    ) -> None:
        """Show the file in a window of that size."""
        self.turn(dark=dark)
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)
        self.resize(width, height)
        self._forget()
        self.driver.get(page.as_uri())

    def turn(self, *, dark: bool, media: str = "") -> None:
        """Dark or light, on a screen or on paper, without motion."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme, still])

    def resize(self, width: int, height: int) -> None:
        """Another size of the window."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)

    def ask(self, command: str, **arguments: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script: str, *arguments: Any) -> Any:
        """What the script returns."""
        return self.driver.execute_script(script, *arguments)

    def later(self, script: str, *arguments: Any) -> Any:
        """What the script gives to the function that is its last argument."""
        return self.driver.execute_async_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        """The elements that are seen."""
        return [each for each in self.driver.find_elements("css selector", selector) if each.is_displayed()]

    def one(self, selector: str) -> Any:
        """The only one, or the first."""
        return self.all(selector)[0]

    def wait(self, script: str, seconds: float = 10.0) -> Any:
        """What the script returns as soon as it is true."""
        end = time.monotonic() + seconds
        while not (found := self.run(f"return {script}")):
            assert time.monotonic() < end, f"never: {script}"
            time.sleep(0.05)
        return found

    def requests(self) -> list[str]:
        """What was asked for since the page was opened, besides itself."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if url != self.driver.current_url.partition("#")[0]]

    def complaints(self) -> list[str]:
        """What the browser says of the page: errors, and what the policy has stopped."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def violations(self, axe: str, rule: str = "") -> list[str]:
        """What axe-core objects to, by all rules or by that one: rule, and elements."""
        self.run(f"if (!window.axe) {{ {axe} }}")
        found = self.later(
            "axe.run({ resultTypes: ['violations'], ...(arguments[0] ? { runOnly: [arguments[0]] } : {}) }).then(arguments[1])",
            rule,
        )
        return [f"{each['id']}: {[node['html'][:160] for node in each['nodes']][:3]}" for each in found["violations"]]

    def picture(self, target: Path, *, most: int = 1600) -> None:
        """The page, as high as it is, up to that many pixels."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        self.resize(width, min(height, most))
        self.driver.save_screenshot(str(target))

    def _forget(self) -> None:
        for log in ("performance", "browser"):
            self.driver.get_log(log)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that sees nothing but files, and is gone afterwards."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium")
    flags = [
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "hide-scrollbars",
        "disable-dev-shm-usage",
        "force-color-profile=srgb",
    ]
    for flag in (*flags, "disable-background-networking"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
