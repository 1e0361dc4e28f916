"""Reads the API server's count of requests from the text of its metrics."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

_SAMPLE = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class RequestKind(NamedTuple):
    """What the API server distinguishes when it counts requests, as far as tests ask for it."""

    verb: str
    """As the API server says it: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, ..."""

    group: str
    """The API group, empty for the core group."""

    resource: str
    """The plural name, as in `configmaps`."""

    subresource: str
    """As in `status`, or empty."""

    code: str
    """The status code of the reply, as in `200`."""


def parse_request_counts(metrics: str) -> dict[RequestKind, int]:
    """Return the number of requests of each kind, over all versions, scopes and dry runs."""
    counts: Counter[RequestKind] = Counter()
    for sample in _SAMPLE.finditer(metrics):
        labels = dict(_LABEL.findall(sample["labels"]))
        kind = RequestKind(*(labels[name] for name in RequestKind._fields))
        counts[kind] += int(float(sample["value"]))
    return dict(counts)
