"""Counts of requests are read from the API server's metrics."""

from __future__ import annotations

from tests.controlplane.metrics import RequestKind, parse_request_counts

_METRICS = """\
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",\
resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="All",group="",\
resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 1.2e+01
apiserver_request_total{code="409",component="apiserver",dry_run="",group="example.org",\
resource="widgets",scope="resource",subresource="status",verb="PUT",version="v1"} 1
apiserver_request_duration_seconds_count{verb="GET"} 99
"""


def test_requests_are_counted_by_kind() -> None:
    assert parse_request_counts(_METRICS) == {
        RequestKind("GET", "", "configmaps", "", "200"): 14,
        RequestKind("PUT", "example.org", "widgets", "status", "409"): 1,
    }
