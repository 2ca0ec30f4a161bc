"""The learners of all projects: each is loaded when it is first needed, and then follows its log."""

import threading
from concurrent.futures import ThreadPoolExecutor

from dford.service.learning.fold import Fold
from dford.service.projects.projects import Project, require_columns
from dford.service.store.database import Database
from dford.service.store.writer import Writer


class Folds:
    def __init__(self, database: Database, writer: Writer, snapshot_every: int, patience: float) -> None:
        self._database, self._writer = database, writer
        self._snapshot_every, self._patience = snapshot_every, patience
        self.threads = ThreadPoolExecutor(4, "dford-fold")
        self._folds: dict[str, Fold] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        for fold in self.loaded():
            fold.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    def loaded(self) -> list[Fold]:
        with self._lock:
            return list(self._folds.values())

    def current(self, project: Project) -> Fold:
        """The project's learner, once it has caught up."""
        require_columns(project)
        with self._lock:
            if project.name not in self._folds:
                given = self._database, self._writer, project, self.threads, self._snapshot_every
                self._folds[project.name] = Fold(*given)
            fold = self._folds[project.name]
        return fold.ready(self._patience)

    def follow(self, project: Project, sequence: int) -> None:
        """Let the project's learner, if it is loaded, learn what is new."""
        fold = self._folds.get(project.name)
        if fold is not None:
            fold.follow(sequence)

    def final(self, project: Project) -> Fold:
        """The project's learner, once it has learned all answers up to now, and none that was taken back."""
        fold = self.current(project)
        head, items = fold.head()
        if not fold.wait(head, self._patience, items):
            raise fold.catching_up()
        return fold

    def latest(self, project: Project) -> Fold:
        """The project's learner, with all answers up to now if it does not take long, perhaps with one taken back."""
        fold = self.current(project)
        head, items = fold.head()
        fold.wait(head, 0.0 if fold.is_replaced else self._patience, items, may_be_stale=True)
        return fold
