"""Metrics for Prometheus: requests of all processes on this host, and counts from the database."""

from collections.abc import Iterator

from flask import Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from ticketing.services import metrics
from ticketing.services.metrics import Metrics
from ticketing.services.notifications.figures import Figures
from ticketing.version import VERSION
from ticketing.web import auth
from ticketing.web import metrics as request_metrics
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

blp = ApiBlueprint(
    "metrics",
    __name__,
    guard=auth.Scraper(),
    description="Metrics for Prometheus.",
)


@blp.get("/metrics")
def read_metrics() -> Response:
    """Read the metrics in Prometheus' text format."""
    of_database = CollectorRegistry()
    of_database.register(_Figures(metrics.read(config().chains)))
    text = generate_latest(request_metrics.registry()) + generate_latest(of_database)
    return Response(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Figures(Collector):
    """The metrics from the database, with their Prometheus names."""

    def __init__(self, figures: Metrics) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        figures = self._figures
        live = GaugeMetricFamily(
            "ticketing_intents", "Intents that are not settled.", labels=["status"]
        )
        for status, count in figures.live.items():
            live.add_metric([status], count)
        entered = CounterMetricFamily(
            "ticketing_intents_entered", "Intents that entered a status.", labels=["status"]
        )
        for status, count in figures.entered.items():
            entered.add_metric([status], count)
        lag = GaugeMetricFamily(
            "ticketing_cursor_lag_seconds", "Age of the last block read.", labels=["chain_id"]
        )
        for chain_id, seconds in figures.cursor_lag.items():
            lag.add_metric([str(chain_id)], seconds)
        rpc_errors = CounterMetricFamily(
            "ticketing_rpc_errors", "Looks at a chain that failed.", labels=["chain_id"]
        )
        for chain, count in figures.rpc_errors.items():
            rpc_errors.add_metric([chain], count)
        skipped = CounterMetricFamily(
            "ticketing_skipped_blocks", "Blocks that no node had any more.", labels=["chain_id"]
        )
        for chain, count in figures.skipped_blocks.items():
            skipped.add_metric([chain], count)
        set_aside = CounterMetricFamily(
            "ticketing_orders_set_aside",
            "Settlements of an order that failed: it is tried again later.",
            labels=["chain_id"],
        )
        for chain, count in figures.set_aside.items():
            set_aside.add_metric([chain], count)
        settles = CounterMetricFamily(
            "ticketing_x402_settles",
            "What facilitators said of transfers. `unknown`: nothing that counts.",
            labels=["chain_id", "outcome"],
        )
        for label, count in figures.x402_settles.items():
            settles.add_metric(label.split(), count)
        reports = CounterMetricFamily(
            "ticketing_refund_reports",
            "What a console page saw of refunds that is not as listed. The log has the orders.",
            labels=["chain_id", "kind"],
        )
        for label, count in figures.refund_reports.items():
            reports.add_metric(label.split(), count)
        build = InfoMetricFamily("ticketing_build", "The release.", {"version": VERSION})
        yield from (build, live, entered, lag, rpc_errors, skipped, set_aside, settles, reports)
        yield GaugeMetricFamily(
            "ticketing_refunds_owed",
            "Refunds that are due, by intent, network and token.",
            figures.refunds_owed,
        )
        yield GaugeMetricFamily(
            "ticketing_refund_due_micro_units", "What is owed in all.", figures.refund_due
        )
        yield from _of_notifications(figures.notifications)
        if figures.backup_age is not None:
            yield GaugeMetricFamily(
                "ticketing_backup_age_seconds", "Age of the last good backup.", figures.backup_age
            )


def _of_notifications(figures: Figures) -> Iterator[Metric]:
    endpoints = GaugeMetricFamily(
        "ticketing_webhook_endpoints", "Endpoints that do not get notifications.", labels=["state"]
    )
    endpoints.add_metric(["failing"], figures.failing)
    endpoints.add_metric(["disabled"], figures.disabled)
    attempts = GaugeMetricFamily(
        "ticketing_webhook_failed_attempts",
        "Attempts that failed in a row, of failing endpoints.",
        labels=["endpoint"],
    )
    for endpoint, count in figures.failed_attempts.items():
        attempts.add_metric([endpoint], count)
    yield from (endpoints, attempts)
    for name, meaning, value in (
        ("webhook_waiting", "Notifications to deliver, for all endpoints.", figures.waiting),
        (
            "notification_oldest_waiting_seconds",
            "Age of the oldest notification to number or to deliver.",
            figures.oldest_seconds,
        ),
        ("mails_waiting", "Mails to send.", figures.mails_waiting),
        ("mails_dropped_last_day", "Mails dropped in the last day.", figures.mails_dropped),
    ):
        yield GaugeMetricFamily(f"ticketing_{name}", meaning, value)
