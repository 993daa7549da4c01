"""What is up to chance: the convention, and what a seed makes of each occasion."""

from kwhatif.simulation.parameters import Chance

NAMES = [f"n{number}" for number in range(5)]


def test_the_convention_is_the_first_and_all_there_is() -> None:
    chance = Chance()
    assert chance.is_convention
    assert [chance.pick(NAMES) for _ in range(3)] == ["n0"] * 3
    assert chance.share("a") == 1.0
    assert chance.order(reversed(NAMES)) == NAMES[::-1]
    assert chance.choices == {"drains": 1}


def test_a_seed_decides_each_occasion_anew_and_always_alike() -> None:
    first, again, other = Chance("1 0"), Chance("1 0"), Chance("1 1")
    picked = [first.pick(NAMES) for _ in range(50)]
    assert picked == [again.pick(NAMES) for _ in range(50)]
    assert picked != [other.pick(NAMES) for _ in range(50)]
    assert set(picked) == set(NAMES)


def test_a_share_belongs_to_a_thing() -> None:
    chance = Chance("7")
    shares = [chance.share(name) for name in NAMES]
    assert shares == [chance.share(name) for name in NAMES]
    assert len(set(shares)) == len(NAMES)
    assert all(0 <= share < 1 for share in shares)


def test_an_order_has_all_names_once() -> None:
    orders = {tuple(Chance(str(seed)).order(NAMES)) for seed in range(20)}
    assert all(sorted(order) == NAMES for order in orders)
    assert len(orders) > 10


def test_a_single_pod_has_no_order() -> None:
    chance = Chance()
    assert chance.order(["a"]) == ["a"]
    assert chance.choices == {}
