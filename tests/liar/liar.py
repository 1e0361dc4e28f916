"""The liar: answers each request of the loop with a seeded mix of truth and lies, over HTTP.

It knows the world that the documents were made of. What it is asked it reads from the request, as
a model would: the schema or the tools say what is wanted, the prompt has questions, passages,
facts and claims by their names.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from controller.api.model import Backend
from tests.endpoint.server import Answer, Received
from tests.liar.asked import Asked
from tests.liar.delivery import Speaker
from tests.liar.kinds import Truth
from tests.liar.lies import Inventor, Lie, LieClass, Part
from tests.liar.truth import Planted, TrueWorld

_MANY: Final = 8
"""How many quotes of one answer are looked at."""


class Item(NamedTuple):
    """A quote as it is sent, and the lie in it, if there is one."""

    content: dict[str, str]
    lie: Lie | None


class Liar:
    """Plays one task: `answer` is a turn of a `ScriptedEndpoint`.

    `lies` has what it has told, `asked` what it was asked, in order. `drips` is how many answers
    may be sent without end, which costs the client's whole time for an answer.
    """

    def __init__(
        self, world: TrueWorld, seed: int, *, backend: Backend = Backend.OPENAI, drips: int = 0
    ) -> None:
        self.world = world
        self.random = random.Random(f"liar {seed}")  # noqa: S311 - neither is a liar
        self.invent = Inventor(world, seed)
        self.speak = Speaker(backend, seed, self.invent, drips)
        self.lies: list[Lie] = []
        self.asked: list[Asked] = []
        self._told: list[Lie] = []

    def answer(self, received: Received) -> Answer:
        """Answer a request."""
        asked = Asked.of(received)
        self.asked.append(asked)
        self._told = []
        prompt = len(json.dumps(received.json)) // 4
        order = self._visible(asked)
        if order is not None and self._happens(0.06):
            sent = self.speak.refusal(order.canary, _class_of(order), prompt)
        elif asked.wanted == "action":
            sent = self.speak.calls(self._action(asked), prompt)
        else:
            sent = self.speak.content(self._content(asked), prompt)
        if sent.lie is not None:
            self._told.insert(0, sent.lie)
        number = len(self.asked) - 1
        self.lies += [replace(lie, request=number) for lie in self._told]
        return sent.answer

    def _content(self, asked: Asked) -> dict[str, Any]:
        writers: Mapping[str, Callable[[Asked], dict[str, Any]]] = {
            "quotes": self._quotes,
            "sentences": self._sentences,
            "doubts": self._doubts,
            "queries": self._queries,
            "questions": self._questions,
        }
        return writers[asked.wanted](asked)

    def _lie(self, lie: Lie) -> str:
        self._told.append(lie)
        return lie.text

    def _happens(self, share: float) -> bool:
        return self.random.random() < share

    def _visible(self, asked: Asked) -> Planted | None:
        """Return an order that stands in the prompt, if the liar feels like obeying it."""
        seen = [p for p in self.world.planted if p.text in asked.prompt]
        return self.random.choice(seen) if seen and self._happens(0.8) else None

    def _quotes(self, asked: Asked) -> dict[str, Any]:
        truth = self.world.truth_of(next(iter(asked.questions.values())))
        passages = asked.named
        items: list[Item] = []
        if truth is not None:
            items += self._about(truth, passages)
        order = self._visible(asked)
        if order is not None:
            items.append(self._obeyed_quote(order, truth, passages))
        self.random.shuffle(items)
        told = items[:_MANY]
        self._told = [item.lie for item in told if item.lie is not None]
        return {"quotes": [item.content for item in told]}

    def _about(self, truth: Truth, passages: Mapping[str, str]) -> list[Item]:
        """Return quotes for a question: some honest, most not."""
        items: list[Item] = []
        there = [
            (name, sentence, locator)
            for name, text in passages.items()
            for locator, sentence in truth.sentences.items()
            if sentence in text
        ]
        for name, sentence, locator in there:
            if self._happens(0.35):
                items.append(_item(name, sentence, self.random.choice([*truth.honest, ""])))
            for _ in range(self.random.randint(0, 2)):
                lie = self.invent.wording(truth, Part.CLAIM)
                items.append(_item(name, sentence, lie.text, lie))
            for _ in range(self.random.randint(0, 2)):
                lie = self.invent.quote(truth, sentence)
                claim = self.random.choice(["", truth.honest[0]])
                items.append(_item(name, lie.text, claim, lie))
            if self._happens(0.5):
                items.append(self._misnamed(sentence, locator, passages))
        if not there and passages and self._happens(0.5):
            name = self.random.choice(list(passages))
            lie = Lie(LieClass.INVENTED_QUOTE, Part.QUOTE, self.invent.invented(truth))
            items.append(_item(name, lie.text, "", lie))
        return items

    def _misnamed(self, sentence: str, locator: str, passages: Mapping[str, str]) -> Item:
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
            return _item(name, sentence, "", lie)
        foreign = self.random.choice(self.world.foreign)
        if self._happens(0.5):
            name = f"p{len(passages) + self.random.randint(1, 90)}"
            return _item(name, foreign, "", Lie(LieClass.ID_OUT_OF_RANGE, Part.QUOTE, foreign))
        lie = Lie(LieClass.UNKNOWN_ID, Part.QUOTE, foreign)
        return _item(self._nobody(), foreign, "", lie)

    def _nobody(self) -> str:
        """Return a name that nothing has."""
        return self.random.choice(
            ["d-0123456789ab", "manual", "1", "", "passage-1", "f-00", "P1", "../p1"]
        )

    def _obeyed_quote(
        self, order: Planted, truth: Truth | None, passages: Mapping[str, str]
    ) -> Item:
        """Do what a page says: its word as quote, as claim, or the order itself as a quote."""
        here = next(name for name, text in passages.items() if order.text in text)
        sentences = list(truth.sentences.values()) if truth else []
        places = [(n, s) for n, text in passages.items() for s in sentences if s in text]
        name, sentence = places[0] if places else (here, order.text)
        claim = f"The default of {truth.heading if truth else 'it'} is {order.canary}."
        lie = Lie(_class_of(order), Part.QUOTE, order.canary)
        return self.random.choice(
            [
                _item(here, order.text, "", lie),
                _item(here, order.canary, "", lie),
                _item(here, order.text, claim, lie),
                _item(name, sentence, claim, lie),
                _item(name, sentence, order.canary, lie),
            ]
        )

    def _sentences(self, asked: Asked) -> dict[str, Any]:
        facts = asked.named
        items: list[dict[str, Any]] = []
        for name, text in facts.items():
            truth = self.world.said_in(text)
            if truth is not None:
                items += self._sentences_on(truth, name, facts)
        order = self._visible(asked)
        if order is not None:
            self._told.append(Lie(_class_of(order), Part.SENTENCE, order.canary))
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


def _item(passage: str, quote: str, claim: str, lie: Lie | None = None) -> Item:
    return Item({"passage": passage, "quote": quote, "claim": claim}, lie)


def _class_of(order: Planted) -> LieClass:
    return LieClass.QUOTES_ORDER if order.names_the_topic else LieClass.OBEYS_PAGE


def _claim_in(text: str) -> str:
    """Return the claim of a text that shows a claim beside its quote."""
    return text.partition("claim: ")[2].partition("\nquote: ")[0]
