"""The client on a real socket: one request, one deadline, nothing hidden, no key let out."""

from __future__ import annotations

import asyncio
import gc
import gzip
import logging
import ssl
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

import httpx2
import pytest

from controller.api.errors import (
    ActionError,
    BlockedAddressError,
    ModelNotReadyError,
    PermanentError,
    RetryableError,
    UnavailableError,
)
from controller.api.model import Backend
from controller.api.reasons import ReadyReason
from controller.clock import SystemClock
from controller.logs import quiet_transports
from controller.models.carrier import LARGEST_ANSWER
from controller.models.credentials import NoCredentials
from controller.models.endpoint import EndpointModel
from controller.models.unreachable import connection_failure
from tests.endpoint.clients import CANARY, PROPOSAL, QUERIES, Keys, endpoint_model, resource
from tests.endpoint.server import Answer, Delivery, RunningEndpoint, ScriptedEndpoint, Turn
from tests.endpoint.shapes import ERRORS, HTML, answer_of, envelope, good, picked, with_headers


async def failure(url: str, **spec: Any) -> ActionError:  # noqa: ANN401 - any field
    async with endpoint_model(url, **spec) as model:
        with pytest.raises(ActionError) as caught:
            await model.complete(QUERIES)
    return caught.value


async def played(
    turn: Turn,
    **spec: Any,  # noqa: ANN401 - any field
) -> tuple[ActionError, ScriptedEndpoint]:
    async with ScriptedEndpoint(repeat(turn)) as endpoint:
        error = await failure(endpoint.url, **spec)
    assert len(endpoint.requests) == 1
    return error, endpoint


# S2.15
@pytest.mark.parametrize("backend", list(Backend))
async def test_a_call_is_one_request_to_each_kind(backend: Backend) -> None:
    async with (
        ScriptedEndpoint([good({"queries": []}, backend)]) as endpoint,
        endpoint_model(endpoint.url, backend, seed=7) as model,
    ):
        reply = await model.complete(QUERIES)
    assert reply.text == '{"queries": []}'
    (request,) = endpoint.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {CANARY}"
    assert request.json["model"] == model.sampling.requested_model == "scripted"
    assert request.json.get("seed") == model.sampling.seed
    assert model.terms.generation == 3
    assert "stream" not in request.json  # rule 18


async def test_an_action_is_picked_by_tool_or_by_json() -> None:
    arguments = {"questionId": "glow", "query": "x"}
    script = [
        picked(("Search", arguments)),
        good({"action": "Search", "arguments": arguments}, Backend.LLAMA_CPP),
    ]
    async with ScriptedEndpoint(script) as endpoint:
        for backend in (Backend.OPENAI, Backend.LLAMA_CPP):
            async with endpoint_model(endpoint.url, backend) as model:
                (call,) = (await model.complete(PROPOSAL)).calls
                assert call.name == "Search"
                assert call.arguments == '{"query":"x","questionId":"glow"}'


# rule 1: nothing is sent twice, whatever the answer asks for
@pytest.mark.parametrize("status", [400, 401, 408, 409, 429, 500, 503])
async def test_nothing_is_sent_again_by_the_client(status: int) -> None:
    answer = answer_of({}, status, x_should_retry="true", retry_after_ms="1")
    await played(answer)


# rule 2: the deadline is for the whole exchange
@pytest.mark.parametrize(
    "delivery",
    [
        Delivery.SILENCE,
        Delivery.HEADERS_THEN_SILENCE,
        Delivery.HALF_THEN_SILENCE,
        Delivery.DRIP,
    ],
)
async def test_an_answer_that_does_not_end_is_a_timeout(delivery: Delivery) -> None:
    answer = Answer(body=good({}).body, delivery=delivery)
    error, _ = await played(answer, requestTimeoutSeconds=1)
    assert isinstance(error, RetryableError)
    assert error.error_class == "Timeout"
    assert "spec.requestTimeoutSeconds of the ResearchModel scripted" in str(error)


async def test_a_call_that_is_cancelled_closes_its_connection() -> None:
    came = asyncio.Event()

    def silent(_: object) -> Answer:
        came.set()
        return Answer(delivery=Delivery.SILENCE)

    async with (
        ScriptedEndpoint([silent]) as endpoint,
        endpoint_model(endpoint.url) as model,
    ):
        call = asyncio.create_task(model.complete(QUERIES))
        await came.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


@pytest.mark.parametrize("delivery", [Delivery.RESET_BEFORE, Delivery.RESET_DURING, Delivery.CUT])
async def test_a_broken_connection_is_unreachable(delivery: Delivery) -> None:
    error, _ = await played(Answer(body=good({}).body, delivery=delivery))
    assert isinstance(error, RetryableError)
    assert error.error_class == "Unreachable"
    assert "127.0.0.1" in str(error)


async def test_a_reset_after_the_answer_harms_nothing() -> None:
    answer = Answer(body=good("{}").body, delivery=Delivery.RESET_AFTER)
    async with (
        ScriptedEndpoint([answer, good("{}")]) as endpoint,
        endpoint_model(endpoint.url) as model,
    ):
        assert (await model.complete(QUERIES)).text == "{}"
        assert (await model.complete(QUERIES)).text == "{}"


async def free_port() -> int:
    async with ScriptedEndpoint([]) as endpoint:
        return endpoint.port


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:{port}/v1", "connection refused"),
        ("http://nowhere.invalid/v1", "cannot be resolved"),
        ("http://host:99999/v1", "host:99999"),
        ("http://[bad/v1", "check spec.baseURL"),
    ],
)
async def test_an_address_where_nothing_is_names_the_mend(url: str, words: str) -> None:
    error = await failure(url.format(port=await free_port()))
    assert error.error_class == "Unreachable"
    assert words in str(error)


async def test_no_tls_names_the_mend() -> None:
    async with ScriptedEndpoint([]) as endpoint:
        error = await failure(endpoint.url.replace("http:", "https:"))
    assert error.error_class == "Unreachable"
    assert "no TLS connection to 127.0.0.1" in str(error)
    assert "certificate" in str(error)


def test_a_certificate_that_is_not_trusted_says_why() -> None:
    refused = ssl.SSLCertVerificationError(1, "certificate verify failed")
    refused.verify_message = "self-signed certificate"
    wrapped = httpx2.ConnectError("")
    wrapped.__cause__ = ExceptionGroup("several", [refused])
    error = connection_failure(wrapped, "https://user@models.example:8443/v1?x=y")
    assert "no TLS connection to models.example:8443: self-signed certificate" in str(error)


# A redirect is not followed, and the key goes nowhere else.
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    async with ScriptedEndpoint(repeat(good({}))) as other:
        answer = Answer(status, headers={"Location": f"{other.url}/chat/completions"})
        error, _ = await played(answer)
    assert isinstance(error, PermanentError)
    assert error.error_class == "BadRequest"
    assert "redirects are not followed" in str(error)
    assert other.requests == []


ENVIRONMENT = {
    "OPENAI_API_KEY": "sk-from-the-environment",
    "OPENAI_ADMIN_KEY": "sk-admin-from-the-environment",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/environment",
    "OPENAI_ORG_ID": "org-environment",
    "OPENAI_PROJECT_ID": "project-environment",
    "OPENAI_WEBHOOK_SECRET": "webhook-environment",
    "OPENAI_CUSTOM_HEADERS": "X-Environment: 1\nAuthorization: Bearer environment\nHost: evil",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "ALL_PROXY": "http://127.0.0.1:1",
}


@pytest.mark.parametrize("credentials", [Keys(), NoCredentials()])
async def test_nothing_of_the_environment_reaches_an_endpoint(
    monkeypatch: pytest.MonkeyPatch, credentials: Keys | NoCredentials
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    async with (
        ScriptedEndpoint([good({})]) as endpoint,
        endpoint_model(endpoint.url, credentials=credentials) as model,
    ):
        await model.complete(QUERIES)
        assert await model.probe() is None
        key = await credentials.key()
        for request in (*endpoint.requests, *endpoint.listings):
            assert request.headers.get("authorization") == (f"Bearer {key}" if key else None)
            assert request.headers["host"] == f"127.0.0.1:{endpoint.port}"
            assert set(request.headers) <= {
                "host", "accept", "accept-encoding", "connection", "user-agent", "authorization",
                "content-type", "content-length",
            }  # fmt: skip
            assert "environment" not in repr(request)


# A large answer is cut at a bound, whatever its status is, and memory stays flat.
@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_of_100_megabytes_is_not_read(status: int) -> None:
    answer = Answer(status, body=b" " * 65_536, times=1_600)
    gc.collect()
    tracemalloc.start()
    try:
        error, endpoint = await played(answer)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(error, RetryableError)
    assert error.error_class == "BadResponse"
    assert f"more than {LARGEST_ANSWER} bytes" in str(error)
    assert endpoint.sent < 2 * LARGEST_ANSWER + 16 * 2**20
    assert peak < 5 * LARGEST_ANSWER


@pytest.mark.parametrize(("status", "error_class"), [(200, "BadResponse"), (502, "ServerError")])
async def test_a_proxy_s_page_is_no_answer(status: int, error_class: str) -> None:
    error, _ = await played(Answer(status, HTML, {"content-type": "text/html"}))
    assert error.error_class == error_class
    assert "<html" not in str(error)


@pytest.mark.parametrize(
    "body", [b"[" * 200_000, b"\xff\xfe", b'{"error": "\\ud800"}', b"9" * 9999]
)
async def test_an_error_s_body_may_be_anything(body: bytes) -> None:
    answer = Answer(500, body, {"content-type": "application/json; charset=none"})
    error, _ = await played(answer)
    assert error.error_class == "ServerError"
    str(error).encode()


class Guard(httpx2.AsyncBaseTransport):
    """Lets nothing through."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise BlockedAddressError(f"{request.url.host} is a private address")


class WrappingGuard(Guard):
    """Lets nothing through, in an error of HTTP."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except BlockedAddressError as error:
            raise httpx2.ConnectError("refused") from error


@pytest.mark.parametrize("guard", [Guard(), WrappingGuard()])
async def test_what_the_guard_refuses_is_not_tried_again(guard: Guard) -> None:
    async with httpx2.AsyncClient(transport=guard) as client:
        model = EndpointModel(
            resource("http://10.0.0.1/v1"), client=client, credentials=Keys(), clock=SystemClock()
        )
        with pytest.raises(PermanentError, match=r"10\.0\.0\.1 is a private address") as caught:
            await model.complete(QUERIES)
        assert caught.value.error_class == "BadRequest"
        assert "private address" in (await model.probe() or "")


# S0.40: the one kind that may have no address has one.
async def test_without_an_address_the_provider_s_own_is_asked() -> None:
    async with httpx2.AsyncClient(transport=Guard()) as client:
        model = EndpointModel(
            resource(None), client=client, credentials=Keys(), clock=SystemClock()
        )
        with pytest.raises(PermanentError, match=r"api\.openai\.com is a private address"):
            await model.complete(QUERIES)


# A key that is rotated during a run is another attempt; one that stays refused is the end.
async def test_a_rotated_key_is_tried_again() -> None:
    keys = Keys(now=["sk-the-new-key"])
    refused = ERRORS[Backend.OPENAI]["Credentials"]
    async with (
        ScriptedEndpoint([refused, good({})]) as endpoint,
        endpoint_model(endpoint.url, credentials=keys) as model,
    ):
        with pytest.raises(RetryableError) as caught:
            await model.complete(QUERIES)
        assert caught.value.error_class == "CredentialsChanged"
        assert caught.value.retry_after_seconds == 0
        await model.complete(QUERIES)
    assert keys.looks == [False, True, False]
    sent = [r.headers["authorization"] for r in endpoint.requests]
    assert sent == [f"Bearer {CANARY}", "Bearer sk-the-new-key"]


# rule 11
@pytest.mark.parametrize(
    ("found", "error_class"),
    [
        (CANARY, "Credentials"),
        (f"{CANARY}\n", "Credentials"),
        ("", "Credentials"),
        (UnavailableError("no answer"), "CredentialsChanged"),
        (ModelNotReadyError(ReadyReason.READY, "the Secret is gone"), "CredentialsChanged"),
    ],
)
async def test_a_refused_key_is_looked_up_once(found: str | Exception, error_class: str) -> None:
    keys = Keys(now=[found])
    error, _ = await played(Answer(403), credentials=keys)
    assert error.error_class == error_class
    assert isinstance(error, PermanentError) is (error_class == "Credentials")
    assert keys.looks == [False, True]


async def test_without_a_key_a_refusal_is_final() -> None:
    error, endpoint = await played(Answer(401), credentials=NoCredentials())
    assert error.error_class == "Credentials"
    assert "authorization" not in endpoint.requests[0].headers


@pytest.mark.parametrize("key", ["", " \n", "sk-\nnew", "clé", "sk-\0"])
async def test_a_key_that_no_header_can_hold_is_not_sent(key: str) -> None:
    async with ScriptedEndpoint([]) as endpoint:
        error = await failure(endpoint.url, credentials=Keys(cached=key))
    assert error.error_class == "Credentials"
    assert endpoint.requests == []


async def test_white_space_around_a_key_is_no_part_of_it() -> None:
    async with (
        ScriptedEndpoint([good({})]) as endpoint,
        endpoint_model(endpoint.url, credentials=Keys(cached=f" {CANARY}\n")) as model,
    ):
        await model.complete(QUERIES)
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {CANARY}"


class Gone:
    """`Credentials` whose Secret is not there."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def key(self, *, fresh: bool = False) -> str | None:
        del fresh
        raise self.error


async def test_a_secret_that_is_gone_sends_nothing() -> None:
    gone = Gone(ModelNotReadyError(ReadyReason.READY, "the Secret keys has no key openai"))
    async with ScriptedEndpoint([]) as endpoint:
        error = await failure(endpoint.url, credentials=gone)
        with pytest.raises(UnavailableError):
            await failure(endpoint.url, credentials=Gone(UnavailableError("no answer")))
    assert isinstance(error, RetryableError)
    assert error.error_class == "CredentialsChanged"
    assert endpoint.requests == []


# rule 19, S2.34: through every path of an error
PATHS: Iterable[Turn] = [
    *(answer for errors in ERRORS.values() for answer in errors.values()),
    *(
        answer_of({"error": {"message": f"no {CANARY}", "code": CANARY}}, s)
        for s in (400, 401, 500)
    ),
    answer_of({"error": f"{CANARY}"}),
    answer_of({"detail": f"{CANARY}"}, 403),
    Answer(418, CANARY.encode()),
    Answer(200, CANARY.encode()),
    Answer(302, headers={"Location": f"http://127.0.0.1:1/{CANARY}"}),
    Answer(429, headers={"Retry-After": CANARY}),
    good(CANARY),
    picked((CANARY, CANARY)),
    answer_of(envelope(message={"content": None, "refusal": CANARY}, model=CANARY)),
    answer_of(envelope(usage={"prompt_tokens": 1}, finish_reason=CANARY)),
    *(Answer(body=CANARY.encode(), delivery=d) for d in (Delivery.RESET_DURING, Delivery.CUT)),
]


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Catch all that the operator would log at its most talkative."""
    names = ("httpcore2", "httpx2", "openai")
    before = [logging.getLogger(name).level for name in names]
    quiet_transports()
    caplog.set_level(logging.DEBUG)
    yield caplog
    for name, level in zip(names, before, strict=True):
        logging.getLogger(name).setLevel(level)


async def test_the_key_is_let_out_nowhere(everything_logged: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []
    async with (
        ScriptedEndpoint(PATHS, models=(CANARY,)) as endpoint,
        endpoint_model(endpoint.url) as model,
    ):
        for _ in PATHS:
            try:
                seen.append(repr(await model.complete(QUERIES)))
            except ActionError as error:
                seen.append(f"{error!r} {error} {error.__cause__!r}")
        seen.append(await model.probe() or "")
    assert len(endpoint.requests) == len(seen) - 1
    assert all(CANARY in r.headers["authorization"] for r in endpoint.requests)
    assert not [text for text in seen if CANARY in text]
    assert not [r for r in everything_logged.records if CANARY in r.getMessage() + str(r.exc_info)]


# rule 20
@pytest.mark.parametrize(
    ("backend", "models", "warning"),
    [
        (Backend.OPENAI, ("scripted",), None),
        (
            Backend.OPENAI,
            ("a", "b"),
            "does not list the model scripted (spec.model); it lists a, b",
        ),
        (Backend.OPENAI, (), "it lists none"),
        (Backend.OLLAMA, ("scripted:latest",), None),
        (Backend.VLLM, ("other",), "it lists other"),
        (Backend.LLAMA_CPP, ("/models/any.gguf",), None),
    ],
)
async def test_a_probe_looks_for_the_name(
    backend: Backend, models: tuple[str, ...], warning: str | None
) -> None:
    async with (
        ScriptedEndpoint([], models) as endpoint,
        endpoint_model(endpoint.url, backend) as model,
    ):
        found = await model.probe()
    assert (found is None) if warning is None else (warning in (found or ""))
    assert len(endpoint.listings) == 1
    assert endpoint.listings[0].path == "/v1/models"


# rule 20: a failed probe is a warning
@pytest.mark.parametrize(
    ("listing", "words"),
    [
        (Answer(401), "Credentials|answered 401"),
        (Answer(404), "answered 404"),
        (Answer(200, HTML), "no such list"),
        (Answer(200, b'{"data": [7]}'), "no such list"),
        (Answer(200, b'{"data": null}'), "no such list"),
        (Answer(200, b" " * 65_536, times=200), "more than"),
        (Answer(delivery=Delivery.RESET_BEFORE), "cannot be asked"),
    ],
)
async def test_a_probe_that_fails_warns(listing: Answer, words: str) -> None:
    async with (
        ScriptedEndpoint([]) as endpoint,
        endpoint_model(endpoint.url) as model,
    ):
        endpoint.listing = listing
        warning = await model.probe()
    assert warning is not None
    assert any(part in warning for part in words.split("|"))


async def test_a_probe_without_a_secret_or_an_endpoint_warns() -> None:
    gone = Gone(ModelNotReadyError(ReadyReason.READY, "the Secret is not there"))
    url = f"http://127.0.0.1:{await free_port()}/v1"
    async with endpoint_model(url, credentials=gone) as model:
        assert "the Secret is not there" in (await model.probe() or "")
    async with endpoint_model(url) as model:
        assert "connection refused" in (await model.probe() or "")


async def test_a_compressed_answer_is_bounded_too() -> None:
    packed = gzip.compress(b" " * (3 * LARGEST_ANSWER))
    answer = with_headers(Answer(body=packed), content_encoding="gzip")
    error, endpoint = await played(answer)
    assert endpoint.requests[0].headers["accept-encoding"] == "identity"
    assert f"more than {LARGEST_ANSWER} bytes" in str(error)


# S2.16: two live answers may differ, and both are what they are.
async def test_two_answers_to_one_request_may_differ() -> None:
    async with (
        ScriptedEndpoint([good("one"), good("two")]) as endpoint,
        endpoint_model(endpoint.url, temperature="0", seed=1) as model,
    ):
        replies = [await model.complete(QUERIES) for _ in range(2)]
    assert endpoint.requests[0].body == endpoint.requests[1].body
    assert [reply.text for reply in replies] == ["one", "two"]


def test_the_endpoint_runs_beside_a_caller_without_an_event_loop() -> None:
    async def ask(url: str) -> str | None:
        async with endpoint_model(url) as model:
            return (await model.complete(QUERIES)).text

    with RunningEndpoint(ScriptedEndpoint([good("{}")])) as running:
        assert asyncio.run(ask(running.url)) == "{}"
    assert len(running.endpoint.requests) == 1
