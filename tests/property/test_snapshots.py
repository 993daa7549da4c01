"""Of any cluster, its snapshot gives the same decisions, and its anonymized one the same under other names."""

import io
import json
from typing import Any

from hypothesis import HealthCheck, given, settings

from kwhatif.kube.model.pod import Pod
from kwhatif.questions.session.session import Session
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.save import Moment, Saved, saved_objects
from tests.asking import each_alone
from tests.examples import examples
from tests.old_names import OldNames
from tests.property.worlds import World, worlds


def read_back(saved: Saved) -> Collected:
    text = b"".join(format_of("snapshot.json").encode(saved.objects))
    return collect_dump(["-"], stdin=io.BytesIO(text))


def decided(source: Collected, keys: list[str]) -> Any:
    loaded = source.fork().admitted()
    pods = [loaded.cluster.all(Pod)[key] for key in keys]
    return json.loads(each_alone(Session.of(loaded.cluster), pods).to_json())["decisions"]


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(world=worlds())
def test_a_snapshot_decides_as_the_cluster(world: World) -> None:
    source = Collected(cluster=world.cluster.fork())
    for info in world.pods:
        source.cluster.add(info.pod)
    source.cluster.sort()
    keys = sorted({info.key for info in world.pods})
    wanted = decided(source, keys)
    plain, anonymized = (
        saved_objects(source, taken_at=Moment(""), images=True, anonymize=anonymize) for anonymize in (False, True)
    )
    assert decided(read_back(plain), keys) == wanted
    new = ["/".join(anonymized.names.get(part, part) for part in key.split("/")) for key in keys]
    assert OldNames(anonymized.names).within(decided(read_back(anonymized), new)) == wanted
