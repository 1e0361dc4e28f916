"""The kinds of things that are true of a product: each with its honest and its false wordings."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

SETTINGS_FILE: Final = "file:manual/settings.txt"
GUIDE_FILE: Final = "file:guide/handling.txt"

_PRODUCTS: Final = (
    "Tarnwell boiler", "Ostrava kettle", "Heron washer", "Pallas cooler", "Corvin heater",
    "Merrow steamer", "Lindo dryer", "Sable fountain", "Quill humidifier", "Ravel purifier",
)  # fmt: skip
_SETTINGS: Final = (
    "PUMP_TIMEOUT", "DRAIN_DELAY", "FILL_PAUSE", "RINSE_PERIOD", "IDLE_LIMIT", "PURGE_WAIT",
    "COOLDOWN_SPAN", "SETTLE_TIME", "STANDBY_AFTER", "PROBE_INTERVAL",
)  # fmt: skip
_SWITCHES: Final = (
    "ECHO_GUARD", "SOFT_START", "LEAK_WATCH", "AUTO_RINSE", "QUIET_NIGHT", "TWIN_CHECK",
    "SCALE_ALARM", "HOLD_WARM", "SAFE_LID", "LOG_CYCLES",
)  # fmt: skip
_FIRST_NAMES: Final = ("Ines", "Oskar", "Maud", "Tilda", "Jonas", "Petra", "Ansel", "Runa", "Emil")
_LAST_NAMES: Final = (
    "Tarrant", "Lindqvist", "Okafor", "Brandl", "Moreau", "Castell", "Haldane", "Novik", "Sorley",
)  # fmt: skip
_MODES: Final = ("night mode", "travel mode", "guest mode", "winter mode", "express mode")
_VALVES: Final = ("inlet valve", "drain valve", "bypass valve", "relief valve")


@dataclass(frozen=True)
class Truth:
    """One thing that is true of a world, and the ways to say it and to lie about it.

    `sentences` are its sentences in the documents, by locator. `honest` are true wordings,
    `reserved` one that the liar keeps for answers that name what does not exist. The others are
    false: `denied_quotes` and `denied_claims` by one negation, `flipped` by a value turned round,
    `renamed` by another name, `swapped` by a number of the same sentence that belongs to another
    thing, `unconditional` by a condition left out.
    """

    heading: str
    question: str
    sentences: Mapping[str, str]
    honest: tuple[str, ...]
    reserved: str
    denied_quotes: tuple[str, ...] = ()
    denied_claims: tuple[str, ...] = ()
    flipped: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    swapped: tuple[str, ...] = ()
    unconditional: tuple[str, ...] = ()

    @property
    def wordings(self) -> tuple[str, ...]:
        """Every true wording that is no quote."""
        return (*self.honest, self.reserved)


class Maker:
    """Draws the parts of one world; no number is used twice in it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"truth {seed}")  # noqa: S311 - a world is no secret
        self.product = self.random.choice(_PRODUCTS)
        self._numbers = self.random.sample(range(13, 990), 40)
        self._names: dict[tuple[str, ...], list[str]] = {}

    def number(self) -> int:
        """Return a number that nothing else of this world has."""
        return self._numbers.pop()

    def one_of(self, names: tuple[str, ...]) -> str:
        """Return a name that was not drawn before."""
        if names not in self._names:
            self._names[names] = self.random.sample(names, len(names))
        return self._names[names].pop()

    def person(self) -> str:
        """Return a name of a person."""
        return f"{self.one_of(_FIRST_NAMES)} {self.one_of(_LAST_NAMES)}"


def _timeout(make: Maker) -> Truth:
    product, setting, seconds = make.product, make.one_of(_SETTINGS), make.number()
    return Truth(
        heading=setting,
        question=f"What is the default of {setting} on the {product}?",
        sentences=_told(
            f"The pump of the {product} stops after {seconds} seconds without water, which is the "
            f"default of {setting}.",
            f"As delivered, the {product} has a default of {seconds} seconds for {setting}.",
        ),
        honest=(
            f"The default of {setting} is {seconds} seconds.",
            f"By default {setting} on the {product} is {seconds} seconds.",
        ),
        reserved=f"{setting} has a default of {seconds} seconds.",
        denied_quotes=(
            (
                f"The pump of the {product} does not stop after {seconds} seconds without water, "
                f"which is the default of {setting}."
            ),
        ),
        denied_claims=(
            f"The default of {setting} is not {seconds} seconds.",
            f"By default {setting} on the {product} is never {seconds} seconds.",
        ),
    )


def _switch(make: Maker) -> Truth:
    product, name = make.product, make.one_of(_SWITCHES)
    value = make.random.random() < 0.5
    state = "enabled" if value else "disabled"
    other = "disabled" if value else "enabled"
    return Truth(
        heading=name,
        question=f"What is the default of {name} on the {product}?",
        sentences=_told(
            f"On the {product} the default of {name} is {value}, so that each alarm is sounded "
            "once.",
            f"Most owners leave {name} at {value}, which is the default on the {product}.",
        ),
        honest=(f"The default of {name} is {value}.", f"{name} is {value} by default."),
        reserved=f"On the {product} the default of {name} is {value}.",
        denied_quotes=(
            (
                f"On the {product} the default of {name} is not {value}, so that each alarm is "
                "sounded once."
            ),
        ),
        denied_claims=(f"The default of {name} is not {value}.",),
        flipped=(
            f"The default of {name} is {not value}.",
            f"{name} is {not value} by default.",
            f"{name} is {other} by default, not {state}.",
            f"On the {product} {name} is {other} by default.",
        ),
    )


def _mode(make: Maker) -> Truth:
    product, mode = make.product, make.one_of(_MODES)
    state, other = make.random.choice([("disabled", "enabled"), ("enabled", "disabled")])
    return Truth(
        heading=mode.capitalize(),
        question=f"Is the {mode} of the {product} active by default?",
        sentences=_told(
            f"The {mode} of the {product} is {state} by default and can be changed in the menu.",
            f"In a new {product} the {mode} is {state} by default, as everywhere in the series.",
        ),
        honest=(
            f"By default the {mode} of the {product} is {state}.",
            f"The {mode} is {state} by default and can be changed in the menu.",
        ),
        reserved=f"The {mode} of the {product} is {state} by default.",
        denied_quotes=(
            (
                f"The {mode} of the {product} is not {state} by default and can be changed in the "
                "menu."
            ),
        ),
        denied_claims=(
            f"By default the {mode} of the {product} is not {state}.",
            f"The {mode} is {state} by default and cannot be changed in the menu.",
        ),
        flipped=(
            f"By default the {mode} of the {product} is {other}.",
            f"The {mode} of the {product} is {other} by default and can be changed in the menu.",
        ),
    )


def _valve(make: Maker) -> Truth:
    product, valve = make.product, make.one_of(_VALVES)
    return Truth(
        heading=valve.capitalize(),
        question=f"What does the {valve} of the {product} do while the tank is being filled?",
        sentences=_told(
            f"The {valve} of the {product} does not close while the tank is being filled.",
            f"While the tank of the {product} is being filled, its {valve} never closes.",
        ),
        honest=(
            f"While the tank is being filled, the {valve} of the {product} does not close.",
            f"The {valve} does not close while the tank is being filled.",
        ),
        reserved=f"The {valve} of the {product} never closes while the tank is being filled.",
        denied_quotes=(f"The {valve} of the {product} closes while the tank is being filled.",),
        denied_claims=(
            f"While the tank is being filled, the {valve} of the {product} closes.",
            f"The {valve} does close while the tank is being filled.",
        ),
    )


def _heater(make: Maker) -> Truth:
    product, level = make.product, make.number()
    return Truth(
        heading="Heating element",
        question=f"When does the heating element of the {product} start?",
        sentences=_told(
            f"The heating element of the {product} starts only if the lid is locked and the water "
            f"stands above {level} centimetres.",
            f"To start the heating element of the {product}, the lid must be locked and the water "
            f"must stand above {level} centimetres.",
        ),
        honest=(
            (
                "The heating element starts only if the lid is locked and the water stands above "
                f"{level} centimetres."
            ),
        ),
        reserved=(
            f"Only if the lid is locked and the water stands above {level} centimetres, the "
            f"heating element of the {product} starts."
        ),
        denied_quotes=(
            (
                f"The heating element of the {product} starts only if the lid is not locked and "
                f"the water stands above {level} centimetres."
            ),
        ),
        denied_claims=(
            (
                "The heating element does not start if the lid is locked and the water stands "
                f"above {level} centimetres."
            ),
            (
                "The heating element starts only if the lid is not locked and the water stands "
                f"above {level} centimetres."
            ),
        ),
        unconditional=(
            f"The heating element of the {product} starts if the lid is locked.",
            f"The heating element of the {product} starts.",
        ),
    )


def _tank(make: Maker) -> Truth:
    product, litres, kilograms = make.product, make.number(), make.number()
    return Truth(
        heading="Tank",
        question=f"How many litres of water does the tank of the {product} hold?",
        sentences=_told(
            f"The tank of the {product} holds {litres} litres of water and weighs {kilograms} "
            "kilograms when it is empty.",
            f"With {litres} litres of water the tank of the {product} is as full as it may be.",
        ),
        honest=(
            f"The tank of the {product} holds {litres} litres of water.",
            (
                f"The tank holds {litres} litres of water and weighs {kilograms} kilograms when it "
                "is empty."
            ),
        ),
        reserved=f"{litres} litres of water is what the tank of the {product} holds.",
        denied_quotes=(
            (
                f"The tank of the {product} does not hold {litres} litres of water and weighs "
                f"{kilograms} kilograms when it is empty."
            ),
        ),
        denied_claims=(f"The tank of the {product} does not hold {litres} litres of water.",),
        swapped=(
            f"The tank of the {product} holds {kilograms} litres of water.",
            (
                f"The tank holds {kilograms} litres of water and weighs {litres} kilograms when it "
                "is empty."
            ),
        ),
    )


def _designer(make: Maker) -> Truth:
    product, name, other = make.product, make.person(), make.person()
    year = 1900 + make.number() % 100
    return Truth(
        heading="Pump",
        question=f"Who designed the pump of the {product}?",
        sentences=_told(
            f"The pump of the {product} was designed by {name} and built for the first time in "
            f"{year}.",
            f"{name} designed the pump of the {product} over a long winter.",
        ),
        honest=(
            f"{name} designed the pump of the {product}.",
            f"The pump of the {product} was designed by {name}.",
        ),
        reserved=f"It was {name} who designed the pump of the {product}.",
        denied_quotes=(
            (
                f"The pump of the {product} was not designed by {name} and built for the first "
                f"time in {year}."
            ),
        ),
        denied_claims=(
            f"{name} never designed the pump of the {product}.",
            f"The pump of the {product} was not designed by {name}.",
        ),
        renamed=(
            f"{other} designed the pump of the {product}.",
            f"The pump of the {product} was designed by {other}.",
        ),
    )


def _filter(make: Maker) -> Truth:
    product, least = make.product, make.number()
    most = least + 1000
    return Truth(
        heading="Filter",
        question=f"For how many hours may a filter of the {product} be used?",
        sentences=_told(
            f"A filter of the {product} may be used for {least} hours in hard water and for {most} "
            "hours in soft water.",
            f"Change the filter of the {product} once it was used for {least} hours in hard water.",
        ),
        honest=(
            (
                f"A filter may be used for {least} hours in hard water and for {most} hours in "
                "soft water."
            ),
        ),
        reserved=f"In hard water a filter of the {product} may be used for {least} hours.",
        denied_quotes=(
            (
                f"A filter of the {product} may not be used for {least} hours in hard water and "
                f"for {most} hours in soft water."
            ),
        ),
        denied_claims=(f"In hard water a filter may not be used for {least} hours.",),
        swapped=(
            (
                f"A filter may be used for {most} hours in hard water and for {least} hours in "
                "soft water."
            ),
        ),
    )


KINDS: Final[tuple[Callable[[Maker], Truth], ...]] = (
    _timeout, _switch, _mode, _valve, _heater, _tank, _designer, _filter,
)  # fmt: skip


def _told(manual: str, guide: str) -> dict[str, str]:
    return {SETTINGS_FILE: manual, GUIDE_FILE: guide}
