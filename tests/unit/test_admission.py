"""What kwhatif makes of new pods, claims and workloads is what the API server made of them, or refused in these words.

27 cases are recordings. The others were decided by the API server's own packages, without a server around them.
"""

import json

import pytest

from tests import FIXTURES
from tests.admissions import Case, disagreements

FOLDER = FIXTURES / "admission"
RECORDED = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
JUDGED = [case for path in sorted(FOLDER.glob("judged/*.json")) for case in json.loads(path.read_text())]
CASES = [*RECORDED, *JUDGED]


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_case(case: Case) -> None:
    assert list(disagreements(case)) == []


def test_there_are_27_recordings() -> None:
    assert len(RECORDED) == 27


def test_what_comes_out_otherwise_is_reported() -> None:
    (case,) = [case for case in RECORDED if case["title"] == "requests from limits"]
    (result,) = case["results"]
    other = json.loads(json.dumps(result).replace('"cpu": "500m"', '"cpu": "501m"'))
    assert other != result
    assert list(disagreements({**case, "results": [other]}))
    assert list(disagreements({**case, "results": [{"message": "no"}]}))
