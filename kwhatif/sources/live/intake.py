"""`Intake`: pages of lists become objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kwhatif.admission.defaults import DEFAULT_NAMESPACE
from kwhatif.errors import InputError
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.saved import Originals
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder
from kwhatif.sources.decoding.kinds import Asked
from kwhatif.sources.decoding.objects import STORED, validate_batch
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.dumps.collected import Progress, ProgressReporter
from kwhatif.sources.live.failures import unreadable
from kwhatif.sources.live.lists import Page, entries
from kwhatif.sources.text.documents import NotPiecesError, one_piece
from kwhatif.sources.text.problems import Origin, Place, Problems


class Intake:
    """Takes in the pages of all lists, until each is asked for what it came to."""

    def __init__(
        self,
        server: str,
        progress: Progress | None = None,
        originals: Originals | None = None,
        *,
        kinds: KnownKinds | None = None,
    ) -> None:
        """Set up.

        Args:
            server: what messages call the cluster.
            progress: is shown how far each list is.
            originals: keeps the JSON of pods and nodes.
            kinds: the custom kinds of which pods are made.
        """
        kinds = kinds or KnownKinds()
        self._server = server
        self._reporter = ProgressReporter(progress)
        self._objects: dict[Asked, dict[str, KubernetesObject]] = {}
        #: Pages of bystanders wait for the end of their list: what is counted cannot be taken back if it begins again.
        self._aside: dict[Asked, list[Page]] = {}
        self._problems = Problems()
        self._keeps_json = originals is not None
        self.decoder = ObjectDecoder(self._problems, DEFAULT_NAMESPACE, originals, kinds)
        for asked in kinds.lists():
            self.restart(asked)

    def page(self, page: Page) -> None:
        """Take in a page.

        Raises:
            ClusterUnreadable: it makes no sense.
        """
        asked = page.asked
        if asked.type is None:
            self._aside[asked].append(page)
        else:
            with self.sense(asked.path(page.api_version.rpartition("/")[2])):
                for batch in self._batches(page):
                    self._objects[asked].update(self.checked(batch))
        self._report(asked, None if page.remaining is None else self._count(asked) + page.remaining)

    def restart(self, asked: Asked) -> None:
        """The list begins again."""
        if asked.type is None:
            self._aside[asked] = []
        else:
            self._objects[asked] = {}

    def objects(self, asked: Asked) -> dict[str, KubernetesObject]:
        """The objects of a list that has ended, by key; they are forgotten here."""
        self._report(asked, done=True)
        found = self._objects[asked]
        self.restart(asked)
        return found

    def bystanders(self, asked: Asked) -> list[Page]:
        """The pages of a list of bystanders that has ended; they are forgotten here."""
        self._report(asked, done=True)
        found = self._aside[asked]
        self.restart(asked)
        return found

    @contextmanager
    def sense(self, path: str) -> Iterator[None]:
        """Says of what cannot be read where it is from.

        Raises:
            ClusterUnreadable: with all that is wrong.
        """
        try:
            yield
            self._problems.raise_if_any()
        except (InputError, NotPiecesError) as wrong:
            raise unreadable(f"GET {path} of {self._server}", f"the answer makes no sense: {wrong}") from wrong

    def listing(self, page: Page) -> Iterator[DecodedBatch]:
        """The objects of a page that is taken apart; bystanders are seen by the decoder, and are none to keep."""
        place = Place(Origin(f"GET {page.asked.path(page.api_version.rpartition('/')[2])}"))
        kind = f"{page.asked.kind}List"
        yield from self.decoder.listing(one_piece(page.api_version, kind, entries(page.body)), place)

    def checked(self, batch: DecodedBatch) -> Iterator[tuple[str, KubernetesObject]]:
        """Its objects by key; what is wrong with them becomes a problem.

        A list that is continued in a later state can bring an object twice: then the newer one counts.
        """
        validate_batch(batch, self._problems, STORED)
        return ((key_of(obj), obj) for obj in batch.objects if obj is not None)

    def _batches(self, page: Page) -> Iterator[DecodedBatch]:
        """Its objects; what could not be decoded in one go is taken apart, to find out why."""
        if page.objects is None or self._keeps_json:
            yield from self.listing(page)
        else:
            place = Place(Origin(f"GET {page.asked.path(page.api_version.rpartition('/')[2])}"))
            yield self.decoder.accept(page.objects, page.api_version, place)

    def _count(self, asked: Asked) -> int:
        if asked.type is not None:
            return len(self._objects[asked])
        return sum(len(page.objects or ()) for page in self._aside[asked])

    def _report(self, asked: Asked, total: int | None = None, *, done: bool = False) -> None:
        self._reporter.report(asked.name, self._count(asked), total, done=done)
