#!/usr/bin/env bash
# Chromium, its driver and Selenium, and then the tests that need them. `browser.sh --optional` says what is missing, and
# is content, where they cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

code=1
[ "${1:-}" = --optional ] && code=0

missing() {
    echo "browser: not run: $1" >&2
    exit "$code"
}

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
    command -v apt-get >/dev/null || missing "chromium is not there, and neither is apt to install it"
    [ "$(id -u)" = 0 ] || missing "chromium is not there, and only root may install it: apt-get install chromium chromium-driver"
    apt-get update -qq && apt-get install -y -qq chromium chromium-driver >/dev/null || missing "apt cannot install chromium"
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-browser.lock \
    || missing "pip cannot install Selenium"
exec .venv/bin/python -m pytest -rs -m browser tests/browser
