"""Names, times, canonical JSON and digests: what every stored byte depends on."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from controller.api.base import (
    ApiModel,
    Money,
    Time,
    canonical_json,
    digest_of,
    digest_of_text,
    format_time,
    json_name,
)
from controller.api.meta import ObjectMeta, ObjectReference
from controller.api.model import Pricing, ResearchModelSpec
from controller.api.step import ResearchStepSpec
from controller.api.task import (
    REQUESTED_AT,
    Budgets,
    ResearchTask,
    ResearchTaskSpec,
    ResearchTaskStatus,
)


class Moment(ApiModel):
    at: Time


class Price(ApiModel):
    price: Money


@pytest.mark.parametrize(
    ("python", "name"),
    [
        ("topic", "topic"),
        ("max_steps", "maxSteps"),
        ("max_cost_usd", "maxCostUSD"),
        ("task_uid", "taskUID"),
        ("base_url", "baseURL"),
        ("input_usd_per_million_tokens", "inputUSDPerMillionTokens"),
        ("ttl_seconds_after_finished", "ttlSecondsAfterFinished"),
        ("last_handled_requested_at", "lastHandledRequestedAt"),
    ],
)
def test_json_names_keep_acronyms_whole(python: str, name: str) -> None:
    assert json_name(python) == name


def test_the_names_that_users_write() -> None:
    def names(model: type[ApiModel]) -> set[str]:
        return set(model.model_json_schema(by_alias=True)["properties"])

    assert {"maxCostUSD", "activeDeadlineSeconds"} <= names(Budgets)
    assert {"baseURL", "credentialsSecretRef"} <= names(ResearchModelSpec)
    assert "cachedInputUSDPerMillionTokens" in names(Pricing)
    assert {"taskUID", "argumentsJSON", "operationId"} <= names(ResearchStepSpec)
    assert {"ttlSecondsAfterFinished", "sourceRefs"} <= names(ResearchTaskSpec)


def test_objects_are_read_leniently_and_may_not_be_changed() -> None:
    budgets = Budgets.model_validate({"maxSteps": 5, "fromTheFuture": 1})
    assert budgets == Budgets(max_steps=5)
    with pytest.raises(ValidationError, match="frozen"):
        budgets.max_steps = 6  # type: ignore[misc]  # that it cannot be done is the point


def test_what_is_absent_is_not_written() -> None:
    written = Budgets().to_json()
    assert "maxCostUSD" not in written
    assert None not in written.values()


def test_a_refusal_does_not_repeat_the_user_s_value() -> None:
    with pytest.raises(ValidationError) as refusal:
        Price(price="a secret by mistake")
    assert "a secret by mistake" not in str(refusal.value)


def test_a_task_is_read_from_what_the_server_stores() -> None:
    task = ResearchTask.model_validate(
        {
            "apiVersion": "research.fixpoint.dev/v1alpha1",
            "kind": "ResearchTask",
            "metadata": {
                "name": "moorhen",
                "creationTimestamp": "2026-11-02T09:15:04Z",
                "annotations": {"research.fixpoint.dev/requestedAt": "again"},
            },
            "spec": {"topic": "Locks 🦆", "sourceRefs": [{"name": "manual"}]},
            "status": {"observedGeneration": -1},
        }
    )
    assert task.request == "again"
    assert task.spec.topic == "Locks 🦆"
    assert task.metadata.creation_timestamp == datetime(2026, 11, 2, 9, 15, 4, tzinfo=UTC)


REQUESTS = {
    "none": (None, None),
    "an empty one": ("", ""),
    "the longest that is repeated": ("🦆" * 256, "🦆" * 256),
    "a longer one is repeated as its digest": ("x" * 257, digest_of_text("x" * 257)),
}


@pytest.mark.parametrize(("annotation", "request_"), REQUESTS.values(), ids=REQUESTS.keys())
def test_a_request_always_fits_the_status(annotation: str | None, request_: str | None) -> None:
    annotations = {} if annotation is None else {REQUESTED_AT: annotation}
    task = ResearchTask(
        metadata=ObjectMeta(name="moorhen", annotations=annotations),
        spec=ResearchTaskSpec(topic="Locks", source_refs=(ObjectReference(name="manual"),)),
    )
    assert task.request == request_
    status = ResearchTaskStatus(last_handled_requested_at=task.request)
    assert status.last_handled_requested_at == request_


TIMES = {
    "seconds": ("2026-11-02T09:15:04Z", "2026-11-02T09:15:04.000Z"),
    "milliseconds": ("2026-11-02T09:15:04.120Z", "2026-11-02T09:15:04.120Z"),
    "microseconds are cut, not rounded": (
        "2026-11-02T09:15:04.999999Z",
        "2026-11-02T09:15:04.999Z",
    ),
    "an offset becomes UTC": ("2026-11-02T00:15:04+05:30", "2026-11-01T18:45:04.000Z"),
}


@pytest.mark.parametrize(("written", "stored"), TIMES.values(), ids=TIMES.keys())
def test_times_are_stored_in_one_form(written: str, stored: str) -> None:
    assert Moment.model_validate({"at": written}).to_json() == {"at": stored}


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValidationError, match="must carry a time zone"):
        Moment.model_validate({"at": "2026-11-02T09:15:04"})


ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(
    st.datetimes(
        min_value=datetime(1000, 1, 2),  # noqa: DTZ001 - Hypothesis adds the zone
        max_value=datetime(9999, 12, 30),  # noqa: DTZ001 - Hypothesis adds the zone
        timezones=ZONES,
    )
)
def test_a_stored_time_is_read_back_as_it_is(at: datetime) -> None:
    moment = Moment(at=at)
    assert timedelta(0) <= at - moment.at < timedelta(milliseconds=1)
    assert moment.at.tzinfo is UTC
    stored = moment.to_json()
    assert Moment.model_validate(stored) == moment
    assert stored == {"at": format_time(at)}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4)
    ),
    max_leaves=12,
)


def reversed_keys(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the same value, its objects' keys in the reverse order."""
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_canonical_json_is_the_value_and_knows_no_order_of_keys(value: object) -> None:
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(reversed_keys(value)) == text
    assert digest_of(reversed_keys(value)) == digest_of(value)


def test_canonical_json_leaves_unicode_as_it_is() -> None:
    value = {"b": ["é", "مرحبا", "🦆"], "a": 1}
    assert canonical_json(value) == '{"a":1,"b":["é","مرحبا","🦆"]}'


def test_digests_are_those_of_every_other_program() -> None:
    # printf '' | sha256sum; printf '{"a":1}' | sha256sum
    assert digest_of_text("") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    assert digest_of({"a": 1}) == digest_of_text('{"a":1}')
    assert digest_of({"a": 1}) == (
        "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    )


@given(st.text(), st.text())
def test_different_texts_have_different_digests(one: str, other: str) -> None:
    assert (digest_of_text(one) == digest_of_text(other)) == (one == other)


@pytest.mark.parametrize("money", ["0", "1", "0.5", "0.000001", "999999999.999999"])
def test_money_is_a_decimal_string(money: str) -> None:
    assert Price(price=money).price == money


@pytest.mark.parametrize(
    "not_money",
    ["", "-1", "+1", "1e3", "500m", "0.0000001", "00.5", ".5", "1.", "1000000000", "0.5 ", "٣"],
)
def test_money_has_no_sign_exponent_suffix_or_other_digits(not_money: str) -> None:
    with pytest.raises(ValidationError, match="string_pattern_mismatch"):
        Price(price=not_money)
