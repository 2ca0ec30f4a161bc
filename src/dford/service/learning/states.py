"""A project's model and how far it has learned, starting from a snapshot or from nothing."""

import logging

import numpy as np

from dford.service.learning import learned, log_reader, snapshots
from dford.service.learning.learned import Learned
from dford.service.learning.log_reader import Arrivals
from dford.service.learning.snapshots import Snapshot
from dford.service.projects.projects import Project
from dford.service.store.database import Database

_LOG = logging.getLogger(__name__)


class State:
    """A model that has learned all answers up to `sequence`, except those that retractions up to `as_of` take back."""

    def __init__(self, model: Learned, sequence: int, as_of: int) -> None:
        self.model, self.sequence, self.as_of = model, sequence, as_of
        self._recalled = 0  # the sequence number up to which answers left out of the snapshot are back

    def arrivals(self, database: Database, project: Project, items: int, head: int) -> Arrivals:
        """The items up to a number that the model lacks, and that arrived before the head."""
        after = self.model.n_items
        if self.model.placements is None or after >= items:
            return Arrivals(after, np.empty(0, np.int64), project.rows([]))
        return log_reader.arrivals(database, project, after, head)

    def recall(self, database: Database, project: Project) -> None:
        """Give the model the answers that its snapshot left to the log; it needs them to learn, but not to predict."""
        learner, most = self.model.learner, log_reader.MANY
        if learner.missing_:
            for page in log_reader.pages(database, project, self._recalled, self.as_of, self.sequence, most=most):
                own = page.teaches
                learner.recall(page.X[own], learner.classes_[page.level[own] - 1], page.higher[own])
                self._recalled = int(page.sequence[-1])


def first(database: Database, project: Project, goal: int) -> State:
    """The state to use soonest: it may hold what was taken back, if that leaves much less to learn."""
    valid = snapshots.latest(database, project.id, goal)
    newest = snapshots.latest(database, project.id, goal, valid=False)
    missing = [goal - (kept.sequence if kept is not None else 0) for kept in (valid, newest)]
    return _from(database, project, newest if 2 * missing[1] + log_reader.PAGE < missing[0] else valid, goal)


def without_retracted(database: Database, project: Project, head: int) -> State:
    """The latest state without what was taken back."""
    return _from(database, project, snapshots.latest(database, project.id, head), head)


def _from(database: Database, project: Project, kept: Snapshot | None, head: int) -> State:
    if kept is not None:
        # if the database cannot be read, the snapshot is as good as before, and the next call tries again
        items = log_reader.arrivals(database, project, 0, kept.sequence)
        count = log_reader.count(database, project.id, kept.sequence, kept.as_of)
        try:
            model = learned.loads(project, kept, items.X)
            if (rounds := model.learner.rounds_) != count:
                raise ValueError(f"snapshot {kept.sequence} is of {rounds} answers, and the log has {count}")
            return State(model, kept.sequence, kept.as_of)
        except ValueError as error:  # such as another version: the log rebuilds it
            _LOG.warning("project %s learns from the beginning: %s", project.name, error)
    return State(learned.new(project), 0, head)
