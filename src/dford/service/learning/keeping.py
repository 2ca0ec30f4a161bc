"""When the states of a learner are saved, and what became of it."""

import logging
import time
from collections.abc import Callable
from functools import partial

from dford.service.learning import log_reader, snapshots
from dford.service.learning.snapshots import Snapshot
from dford.service.learning.states import State
from dford.service.projects.projects import Project
from dford.service.refusal import Refusal
from dford.service.store.writer import Writer

_KEPT = 2.0  # about the most seconds of learning that a kill undoes while catching up
_SHARE = 20  # seconds of learning for a second of saving, at least
_LOG = logging.getLogger(__name__)


class Keeping:
    """Saves a state every so many answers, and now and then while it catches up."""

    def __init__(self, writer: Writer, project: Project, every: int) -> None:
        self._writer, self._project, self._every = writer, project, every
        self._sequence, self._at, self._took = 0, 0.0, 0.0
        self.failed = 0
        """Snapshots that could not be written."""

    def begin(self, sequence: int) -> None:
        """Begin with a state that is saved up to here."""
        self._sequence, self._at = sequence, time.monotonic()

    def is_new(self, state: State) -> bool:
        return state.sequence > self._sequence

    def is_due(self, state: State, head: int) -> bool:
        since, pause = state.sequence - self._sequence, max(_KEPT, _SHARE * self._took)
        is_late = head - state.sequence > log_reader.PAGE and time.monotonic() - self._at > pause
        return since > 0 and (is_late or since >= max(self._every, state.sequence // 20))

    def keep(self, make: Callable[[], Snapshot], wait: bool = True) -> None:
        begin, project = time.monotonic(), self._project
        new = make()
        try:
            work = self._writer.submit(project.id, partial(snapshots.keep, project=project.id, new=new))
            if wait:
                work.result()
            self._sequence = new.sequence
        except Refusal as refusal:  # nothing is lost, as the log has it all
            self.failed += 1
            _LOG.warning("a snapshot of project %s at %d was not kept: %s", project.name, new.sequence, refusal)
        self._at = time.monotonic()
        self._took = self._at - begin
