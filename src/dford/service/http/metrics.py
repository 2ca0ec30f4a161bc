"""Metrics for Prometheus: requests, how long they took, and what the writer and the learners do."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dford.service.core import Service

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)  # seconds


class Metrics(Collector):
    """The metrics of one application, in a separate registry."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._requests = Counter(
            "dford_requests_total", "Requests by method, path and status.", ["method", "path", "status"], registry=None
        )
        self._seconds = Histogram(
            "dford_request_seconds",
            "Duration of requests in seconds, by method and path.",
            ["method", "path"],
            buckets=_BUCKETS,
            registry=None,
        )
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request to a route with this path, which is empty if there is no such route."""
        if (found := self._counted.get((method, path, status))) is None:  # to look up labels takes longer than to count
            found = self._requests.labels(method, path, str(status)), self._seconds.labels(method, path)
            self._counted[method, path, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> bytes:
        """All of them, in the text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        for metric in (*self._requests.collect(), *self._seconds.collect()):
            # the times of creation would double the number of series
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
        writer, folds = self._service.writer, self._service.folds()
        yield CounterMetricFamily("dford_commits", "Transactions committed.", writer.commits)
        yield GaugeMetricFamily("dford_writes_waiting", "Writes queued or being written.", writer.waiting())
        learned = GaugeMetricFamily(
            "dford_learned_sequence",
            "The last sequence number learned by a project's learner.",
            labels=["project"],
        )
        unkept = CounterMetricFamily(
            "dford_snapshots_failed",
            "Snapshots of a project's learner that could not be written.",
            labels=["project"],
        )
        failed = GaugeMetricFamily(
            "dford_learning_failed", "Whether a project's learner has failed to learn.", labels=["project"]
        )
        for fold in folds:
            project = [fold.project.name]
            learned.add_metric(project, fold.sequence)
            unkept.add_metric(project, fold.keeping.failed)
            failed.add_metric(project, int(fold.failure is not None))
        yield from (learned, unkept, failed)
