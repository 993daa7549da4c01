"""The allocator's search, and its eye for hopeless ones, against a plain enumeration of all choices."""

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kwhatif.dra.allocator import Allocator, InvalidPool, UnsatisfiedRequest
from kwhatif.dra.requests import AllocationError, compile_claim
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.resource import DeviceRequest, ResourceClaim
from tests.builders import cluster, node
from tests.devices import GPU, alternative, claim, device, device_class, first_of, held, match, request, slice_
from tests.examples import examples
from tests.reference import structured_allocator as plain

KEYS = ["numa", "model"]


@st.composite
def items(draw: st.DrawFn) -> list[plain.Item]:
    count = draw(st.integers(0, 7))
    return [
        plain.Item(
            f"d{index}",
            {key: draw(st.integers(0, 2)) for key in KEYS if draw(st.integers(0, 9))},
            free=draw(st.integers(0, 4)) > 0,
        )
        for index in range(count)
    ]


@st.composite
def wants(draw: st.DrawFn, path: str) -> plain.Want:
    count = draw(st.sampled_from([1, 1, 1, 2, 2, 3, None]))
    if draw(st.booleans()):
        return plain.Want(path, count)
    return plain.Want(path, count, draw(st.sampled_from(KEYS)), frozenset(draw(st.sets(st.integers(0, 2), min_size=1))))


@st.composite
def requests(draw: st.DrawFn, name: str) -> tuple[plain.Want, ...]:
    if draw(st.integers(0, 3)):
        return (draw(wants(name)),)
    return tuple(draw(wants(f"{name}/s{index}")) for index in range(draw(st.integers(1, 3))))


@st.composite
def claims(draw: st.DrawFn) -> plain.Claim:
    wanted = tuple(draw(requests(f"r{index}")) for index in range(draw(st.integers(1, 3))))
    takes_all = any(want.devices is None for alternatives in wanted for want in alternatives)
    # With all devices wanted a constraint is an error, which is another matter.
    rules = () if takes_all else tuple(plain.Rule(key) for key in draw(st.sets(st.sampled_from(KEYS), max_size=1)))
    return plain.Claim(wanted, rules)


def _expression(want: plain.Want) -> tuple[str, ...]:
    if not want.key:
        return ()
    return (f'device.attributes["{GPU}"].?{want.key}.orValue(9) in {sorted(want.of)}',)


def _request(alternatives: tuple[plain.Want, ...]) -> DeviceRequest:
    if "/" not in alternatives[0].path:
        (want,) = alternatives
        return request(want.path, *_expression(want), count=want.devices)
    name = alternatives[0].path.partition("/")[0]
    subs = (alternative(want.path.partition("/")[2], *_expression(want), count=want.devices) for want in alternatives)
    return first_of(name, *subs)


def _claim(index: int, asked: plain.Claim) -> ResourceClaim:
    rules = tuple(match(f"{GPU}/{rule.key}") for rule in asked.rules)
    return claim(f"c{index}", *map(_request, asked.requests), constraints=rules)


def _world(devices: list[plain.Item]) -> Cluster:
    there = slice_("n1", *(device(item.name, item.values) for item in devices))
    taken: list[KubernetesObject] = [held(f"{GPU}/n1/{item.name}") for item in devices if not item.free]
    return cluster(node("n1"), device_class(), there, *taken)


def _answer(devices: list[plain.Item], asked: list[plain.Claim]) -> plain.Choice | str | None:
    within = _world(devices)
    wanted = [compile_claim(_claim(index, one), within) for index, one in enumerate(asked)]
    try:
        found = Allocator(within).allocate(node("n1").info(), wanted)
    except AllocationError as failure:
        return str(failure)
    if isinstance(found, UnsatisfiedRequest | InvalidPool):
        return None
    return tuple(tuple(f"{one.request}={one.device}" for one in each.devices.results) for each in found)


@settings(max_examples=examples(300))
@given(items(), st.lists(claims(), min_size=1, max_size=3))
def test_the_first_choice_that_is_allowed_is_taken(devices: list[plain.Item], asked: list[plain.Claim]) -> None:
    expected = plain.allocate(devices, asked)
    event("found" if expected else "not found")
    assert _answer(devices, asked) == expected
