"""The liar: answers each request of the loop with a seeded mix of truth and lies, over HTTP.

It knows the world that the documents were made of. What it is asked it reads from the request, as
a model would: the schema or the tools say what is wanted, the prompt has questions, passages,
facts and claims by their names.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from controller.api.model import Backend
from controller.models.backends import PROFILES
from tests.endpoint.server import Answer, Delivery, Received
from tests.endpoint.shapes import answer_of, envelope, picked
from tests.liar.lies import Inventor, Lie, LieClass, Part
from tests.liar.truth import Planted, Truth, TrueWorld

_NAMED: Final = re.compile(r"^(=== [0-9a-f]{12}) (?P<name>\w+)\n(?P<text>.*?)(?=^\1 )", re.M | re.S)
_QUESTION: Final = re.compile(r"^- (?P<id>[\w-]+)(?: \([^)]*\))?: (?P<text>.+)$", re.MULTILINE)
_SCHEMA: Final = "The JSON schema of the answer: "
_ACTIONS: Final = re.compile(r"^- (\w+): .*? Arguments: (\{.*\})$", re.MULTILINE)
_MANY: Final = 8


@dataclass(frozen=True)
class Asked:
    """What a request asks for: the list that its answer has, or actions to pick from."""

    prompt: str
    wanted: str
    actions: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, received: Received) -> Asked:
        """Read a request as a model would."""
        body = received.json
        actions = {
            t["function"]["name"]: t["function"]["parameters"] for t in body.get("tools", ())
        }
        system = body["messages"][0]["content"]
        if not actions:
            actions = {name: json.loads(given) for name, given in _ACTIONS.findall(system)}
        if actions:
            return cls(received.prompt, "action", actions)
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
        else:
            schema = json.loads(system.partition(_SCHEMA)[2])
        return cls(received.prompt, next(iter(schema["properties"])), {})

    @property
    def named(self) -> dict[str, str]:
        """The texts of the prompt that have names."""
        return {m["name"]: m["text"] for m in _NAMED.finditer(self.prompt)}

    @property
    def questions(self) -> dict[str, str]:
        """The questions of the prompt, by id."""
        return {m["id"]: m["text"] for m in _QUESTION.finditer(self.prompt)}


class Liar:
    """Plays one task: `answer` is a turn of a `ScriptedEndpoint`.

    `lies` has what it has told, `asked` what it was asked, in order. `drips` is how many answers
    may be sent without end, which costs the client's whole time for an answer.
    """

    def __init__(
        self, world: TrueWorld, seed: int, *, backend: Backend = Backend.OPENAI, drips: int = 0
    ) -> None:
        self.world = world
        self.backend = backend
        self.random = random.Random(f"liar {seed}")  # noqa: S311 - neither is a liar
        self.invent = Inventor(world, seed)
        self.lies: list[Lie] = []
        self.asked: list[Asked] = []
        self._drips = drips
        self._told: list[Lie] = []

    def answer(self, received: Received) -> Answer:
        """Answer a request."""
        asked = Asked.of(received)
        self.asked.append(asked)
        self._told = []
        writers: Mapping[str, Callable[[Asked], Any]] = {
            "action": self._action, "quotes": self._quotes, "sentences": self._sentences,
            "doubts": self._doubts, "queries": self._queries, "questions": self._questions,
        }  # fmt: skip
        content = writers[asked.wanted](asked)
        sent = self._sent(content, received)
        number = len(self.asked) - 1
        self.lies += [replace(lie, request=number) for lie in self._told]
        return sent

    def _lie(self, lie: Lie) -> str:
        self._told.append(lie)
        return lie.text

    def _happens(self, share: float) -> bool:
        return self.random.random() < share

    def _visible(self, asked: Asked) -> Planted | None:
        """Return an order that stands in the prompt, if the liar feels like obeying it."""
        seen = [p for p in self.world.planted if p.text in asked.prompt]
        return self.random.choice(seen) if seen and self._happens(0.5) else None

    def _quotes(self, asked: Asked) -> dict[str, Any]:
        truth = self.world.truth_of(next(iter(asked.questions.values())))
        passages = asked.named
        items: list[dict[str, str]] = []
        if truth is not None:
            items += self._about(truth, passages)
        order = self._visible(asked)
        if order is not None:
            items += self._obeyed_quotes(order, truth, passages)
        self.random.shuffle(items)
        return {"quotes": items[:_MANY]} if len(items) <= _MANY else {"quotes": self._cut(items)}

    def _cut(self, items: list[dict[str, str]]) -> list[dict[str, str]]:
        """Leave out what would not be looked at, and the lies in it."""
        kept = items[:_MANY]
        texts = {text for item in kept for text in item.values()}
        self._told = [lie for lie in self._told if lie.text in texts]
        return kept

    def _about(self, truth: Truth, passages: Mapping[str, str]) -> list[dict[str, str]]:
        """Return quotes for a question: some honest, most not."""
        items: list[dict[str, str]] = []
        there = [
            (name, sentence, locator)
            for name, text in passages.items()
            for locator, sentence in truth.sentences.items()
            if sentence in text
        ]
        for name, sentence, locator in there:
            if self._happens(0.35):
                claim = self.random.choice([*truth.honest, ""])
                items.append({"passage": name, "quote": sentence, "claim": claim})
            for _ in range(self.random.randint(0, 2)):
                claim = self._lie(self.invent.wording(truth, Part.CLAIM))
                items.append({"passage": name, "quote": sentence, "claim": claim})
            for _ in range(self.random.randint(0, 2)):
                quote = self._lie(self.invent.quote(truth, sentence))
                claim = self.random.choice(["", truth.honest[0]])
                items.append({"passage": name, "quote": quote, "claim": claim})
            if self._happens(0.5):
                items += self._misnamed(sentence, locator, passages)
        if not there and passages and self._happens(0.5):
            name = self.random.choice(list(passages))
            lie = Lie(LieClass.INVENTED_QUOTE, Part.QUOTE, self.invent.invented(truth))
            items.append({"passage": name, "quote": self._lie(lie), "claim": ""})
        return items

    def _misnamed(
        self, sentence: str, locator: str, passages: Mapping[str, str]
    ) -> list[dict[str, str]]:
        """Return a true sentence under a name that is not its own, or that nothing has."""
        elsewhere = {
            name: other
            for name, text in passages.items()
            for other, whole in self.world.texts.items()
            if other != locator and text.strip().splitlines()[-1] in whole
        }
        if elsewhere and self._happens(0.6):
            name = self.random.choice(list(elsewhere))
            lie = Lie(LieClass.WRONG_SOURCE, Part.QUOTE, sentence, locator=elsewhere[name])
            return [{"passage": name, "quote": self._lie(lie), "claim": ""}]
        foreign = self.random.choice(self.world.foreign)
        if self._happens(0.5):
            name, lie_class = (
                f"p{len(passages) + self.random.randint(1, 90)}",
                LieClass.ID_OUT_OF_RANGE,
            )
        else:
            name, lie_class = self._nobody(), LieClass.UNKNOWN_ID
        lie = Lie(lie_class, Part.QUOTE, foreign)
        return [{"passage": name, "quote": self._lie(lie), "claim": ""}]

    def _nobody(self) -> str:
        """Return a name that nothing has."""
        return self.random.choice(
            ["d-0123456789ab", "manual", "1", "", "passage-1", "f-00", "P1", "../p1"]
        )

    def _obeyed_quotes(
        self, order: Planted, truth: Truth | None, passages: Mapping[str, str]
    ) -> list[dict[str, str]]:
        """Do what a page says: its word as quote, as claim, or the order itself as a quote."""
        here = next(name for name, text in passages.items() if order.text in text)
        beside = next(
            (
                (name, sentence)
                for name, text in passages.items()
                for sentence in (truth.sentences.values() if truth else ())
                if sentence in text
            ),
            (here, order.text),
        )
        lie_class = LieClass.QUOTES_ORDER if order.names_the_topic else LieClass.OBEYS_PAGE
        told = Lie(lie_class, Part.QUOTE, order.canary)
        about = truth.heading if truth else self.world.product
        claim = f"The default of {about} is {order.canary}."
        ways = (
            {"passage": here, "quote": order.text, "claim": ""},
            {"passage": here, "quote": order.canary, "claim": ""},
            {"passage": here, "quote": order.text, "claim": claim},
            {"passage": beside[0], "quote": beside[1], "claim": claim},
            {"passage": beside[0], "quote": beside[1], "claim": order.canary},
        )
        item = self.random.choice(ways)
        self._told.append(told)
        return [item]

    def _sentences(self, asked: Asked) -> dict[str, Any]:
        facts = asked.named
        items: list[dict[str, Any]] = []
        for name, text in facts.items():
            truth = self.world.said_in(text)
            if truth is not None:
                items += self._sentences_on(truth, name, facts)
        order = self._visible(asked)
        if order is not None:
            lie_class = LieClass.QUOTES_ORDER if order.names_the_topic else LieClass.OBEYS_PAGE
            self._told.append(Lie(lie_class, Part.SENTENCE, order.canary))
            items.append(
                {"sentence": f"The answer is {order.canary}.", "facts": [next(iter(facts))]}
            )
        self.random.shuffle(items)
        return {"sentences": items}

    def _sentences_on(
        self, truth: Truth, name: str, facts: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        says = tuple(truth.sentences.values())
        if self._happens(0.6):
            items.append({"sentence": self.random.choice(truth.honest), "facts": [name]})
        for _ in range(self.random.randint(0, 3)):
            worded = self._lie(self.invent.wording(truth, Part.SENTENCE))
            items.append({"sentence": worded, "facts": [name]})
        others = [n for n, text in facts.items() if self.world.said_in(text) is not truth]
        if others and self._happens(0.4):
            lie = Lie(
                LieClass.WRONG_FACT, Part.SENTENCE, self.random.choice(truth.honest), says=says
            )
            items.append({"sentence": self._lie(lie), "facts": [self.random.choice(others)]})
        if self._happens(0.4):
            unknown = self._happens(0.5)
            lie_class = LieClass.UNKNOWN_ID if unknown else LieClass.ID_OUT_OF_RANGE
            bad = self._nobody() if unknown else f"f{len(facts) + self.random.randint(1, 90)}"
            named = self.random.choice([[bad], [name, bad], [bad, name]])
            lie = Lie(lie_class, Part.SENTENCE, truth.reserved)
            items.append({"sentence": self._lie(lie), "facts": named})
        return items

    def _doubts(self, asked: Asked) -> dict[str, Any]:
        claims = asked.named
        false = {n: t for n, t in claims.items() if self._is_false(t)}
        items: list[dict[str, str]] = []
        if self._happens(0.4):  # doubts everything
            for name, text in claims.items():
                if name not in false:
                    lie = Lie(LieClass.VETOES_TRUTH, Part.DOUBT, self.invent.why(), says=(text,))
                    items.append({"claim": name, "why": self._lie(lie)})
        if self._happens(0.5):
            items += [{"claim": name, "why": "it says more"} for name in false]
        else:
            for text in false.values():
                self._lie(Lie(LieClass.VETOES_NOTHING, Part.DOUBT, _claim_in(text)))
        if self._happens(0.3):
            lie = Lie(LieClass.ID_OUT_OF_RANGE, Part.DOUBT, self.invent.why())
            items.append({"claim": f"c{len(claims) + 9}", "why": self._lie(lie)})
        return {"doubts": items}

    def _is_false(self, text: str) -> bool:
        honest = {w for t in self.world.truths for w in t.wordings}
        return _claim_in(text) not in honest

    def _queries(self, asked: Asked) -> dict[str, Any]:
        items = []
        for i, text in asked.questions.items():
            truth = self.world.truth_of(text)
            if truth is not None and self._happens(0.6):
                words = self.random.choice(list(truth.sentences.values())).split()
                items.append({"question": i, "query": " ".join(words[-6:]).strip(".")})
            if self._happens(0.1):
                lie = Lie(LieClass.INVENTED_URL, Part.QUERY, self.invent.url())
                items.append({"question": i, "query": f"{self._lie(lie)} {self.world.product}"})
            if self._happens(0.06):
                lie = Lie(LieClass.UNKNOWN_ID, Part.QUERY, f"lost words {self.invent.why()}")
                items.append({"question": self._nobody() or "q99", "query": self._lie(lie)})
        return {"queries": [*items, *self._obeyed_queries(asked)]}

    def _obeyed_queries(self, asked: Asked) -> list[dict[str, str]]:
        order = self._visible(asked)
        if order is None:
            return []
        self._told.append(Lie(LieClass.OBEYS_PAGE, Part.QUERY, order.canary))
        return [{"question": i, "query": order.canary} for i in asked.questions]

    def _questions(self, _: Asked) -> dict[str, Any]:
        items = [{"question": t.question, "queries": [t.heading]} for t in self.world.asked]
        if self._happens(0.5):
            lie = Lie(LieClass.INVENTED_URL, Part.QUERY, self.invent.url())
            url = self._lie(lie)
            items.insert(
                0,
                {"question": f"What does {url} say of the {self.world.product}?", "queries": [url]},
            )
        return {"questions": items}

    def _action(self, asked: Asked) -> list[tuple[str, Any]]:
        """Pick an action: a legal one, or what is none."""
        legal = [
            (name, self._arguments(given)) for name, given in asked.actions.items() if name != "Ask"
        ]
        honest = self.random.choice(legal) if legal else ("Conclude", {})
        if self._happens(0.7):
            return [honest]
        return self._illegal(asked, honest)

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        properties = given.get("properties", {})
        chosen = {n: self.random.choice(p["enum"]) for n, p in properties.items() if "enum" in p}
        if "query" in properties:
            chosen["query"] = self.random.choice(self.world.truths).heading
        return chosen

    def _illegal(self, asked: Asked, honest: tuple[str, Any]) -> list[tuple[str, Any]]:
        names = set(asked.actions)
        order = self._visible(asked)
        ways: list[tuple[LieClass, list[tuple[str, Any]]]] = [
            (LieClass.SAYS_DONE, [("Finish", {"reason": "GoalReached"})]),
            (LieClass.SAYS_DONE, [("Publish", {"reportDigest": "sha256:0"})]),
            (LieClass.ILLEGAL_ACTION, [("Draft", {}), ("Publish", {})]),
            (LieClass.ILLEGAL_ACTION, [honest, honest]),
            (LieClass.ILLEGAL_ACTION, [("Reverify", {"documentId": "d-0123456789ab"})]),
            (LieClass.ILLEGAL_ACTION, [("Extract", {"questionId": "q99"})]),
            (
                LieClass.ILLEGAL_ACTION,
                [("Search", {"questionId": "q1", "sourceName": "vault", "query": "keys"})],
            ),
            (LieClass.ILLEGAL_ACTION, [("exec", {"command": "kubectl get secrets -A"})]),
            (LieClass.ILLEGAL_ACTION, []),
        ]
        if "Conclude" not in names:
            ways.append((LieClass.SAYS_DONE, [("Conclude", {"questionId": "q1"})]))
        if "Search" in names:
            search = self._arguments(asked.actions["Search"])
            url = self.invent.url()
            ways.append((LieClass.INVENTED_URL, [("Search", {**search, "query": url})]))
        if order is not None:
            ways.append((LieClass.OBEYS_PAGE, [(order.canary, {})]))
        lie_class, calls = self.random.choice(ways)
        text = url if lie_class is LieClass.INVENTED_URL else json.dumps(calls)
        self._told.append(Lie(lie_class, Part.ACTION, text))
        return calls

    def _sent(self, content: Any, received: Received) -> Answer:  # noqa: ANN401 - any JSON
        """Send what was written: whole, broken, or without end."""
        prompt = len(json.dumps(received.json)) // 4
        if isinstance(content, list):
            return self._sent_calls(content, prompt)
        text = json.dumps(content, ensure_ascii=False)
        dice = self.random.random()
        if dice < 0.06:
            return self._instead(
                LieClass.BROKEN_JSON, self.invent.broken(self._payload(content)), prompt
            )
        if dice < 0.1:
            return self._endless(content, prompt)
        if dice < 0.12:
            return self._instead(LieClass.SAYS_DONE, self.invent.done(), prompt)
        return self._whole(text, prompt)

    def _sent_calls(self, calls: Sequence[tuple[str, Any]], prompt: int) -> Answer:
        usage = {"prompt_tokens": prompt, "completion_tokens": 20}
        if PROFILES[self.backend].has_tools:
            written = [(name, json.dumps(given)) for name, given in calls]
            if not written:
                return self._whole("I need no action.", prompt)
            return picked(*written, backend=self.backend, usage=usage)
        answers = [json.dumps({"action": name, "arguments": given}) for name, given in calls]
        return self._whole("".join(answers) or "I need no action.", prompt)

    def _payload(self, content: Mapping[str, Any]) -> str:
        """Return an answer with a lie in it that nothing else tells, as JSON."""
        return json.dumps(content, ensure_ascii=False)

    def _instead(self, lie_class: LieClass, text: str, prompt: int) -> Answer:
        """Send a text in the place of the answer: what it has in it is part of this one lie."""
        self._told = [Lie(lie_class, Part.ANSWER, text), *self._told]
        return self._whole(text, prompt)

    def _endless(self, content: Mapping[str, Any], prompt: int) -> Answer:
        """Talk on: beyond the cap, to the cap, for ever, or drop by drop."""
        text = json.dumps(content, ensure_ascii=False)
        babble = f"{self.invent.done()} " * 200
        ways = ["beyond the cap", "cut at the cap", "without end", "far too long"]
        way = self.random.choice([*ways, "drops"] if self._drips else ways)
        self._told = [Lie(LieClass.ENDLESS, Part.ANSWER, babble[:80]), *self._told]
        if way == "beyond the cap":
            return self._whole(text + " " * 4000, prompt, completion_tokens=1200)
        if way == "cut at the cap":
            return self._whole(text + babble, prompt, finish_reason="length", completion_tokens=512)
        if way == "without end":
            return replace(self._whole(babble, prompt), times=600)
        if way == "far too long":
            return self._whole(babble * 30, prompt, completion_tokens=4000)
        self._drips -= 1
        return replace(self._whole(babble, prompt), delivery=Delivery.DRIP)

    def _whole(
        self,
        text: str,
        prompt: int,
        *,
        finish_reason: str = "stop",
        completion_tokens: int | None = None,
    ) -> Answer:
        completion = max(1, len(text) // 4) if completion_tokens is None else completion_tokens
        usage = {"prompt_tokens": prompt, "completion_tokens": min(completion, 4000)}
        return answer_of(
            envelope(
                self.backend, message={"content": text}, finish_reason=finish_reason, usage=usage
            )
        )


def _claim_in(text: str) -> str:
    """Return the claim of a text that shows a claim beside its quote."""
    return text.partition("claim: ")[2].partition("\nquote: ")[0]
