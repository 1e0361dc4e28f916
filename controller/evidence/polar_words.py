"""The words that turn a sentence round, restrict it, or make it less certain, by language.

English is thorough, since most sources are in it; German, French and Spanish are short. English
words count in every language: a source may be in English where a task is not. A language that is
not here has no table: what is worded in it is left to a soft check.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from controller.evidence.tokens import stem


@dataclass(frozen=True)
class PolarWords:
    """The words of one language.

    `opposites` are complementary: what is not the one is the other, so that a negator before one
    is the other (`not enabled`, `disabled`). `directions` are not: what is not more may be equal.
    Each row has its two sides, parted by a bar.
    """

    negators: frozenset[str]
    exclusive: frozenset[str]
    exceptions: frozenset[str]
    hedges: frozenset[str]
    opposites: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()


_ENGLISH: Final = PolarWords(
    negators=frozenset(
        [
            "not",
            "no",
            "never",
            "none",
            "neither",
            "nor",
            "without",
            "cannot",
            "nobody",
            "nothing",
            "nowhere",
            "noone",
            "lack",
            "lacks",
            "lacking",
            "lacked",
            "dont",
            "doesnt",
            "didnt",
            "isnt",
            "arent",
            "wasnt",
            "werent",
            "cant",
            "wont",
            "couldnt",
            "shouldnt",
            "wouldnt",
            "mustnt",
            "hasnt",
            "havent",
            "hadnt",
        ]
    ),
    exclusive=frozenset(["only", "solely", "exclusively"]),
    exceptions=frozenset(["unless", "except", "excepting", "excluding"]),
    hedges=frozenset(
        # how certain, and whether it is a duty
        "may might can could should must shall would will ought probably possibly likely perhaps "
        "maybe presumably apparently supposedly seems appears potentially theoretically "
        # how often, how many, how much
        "usually often generally typically normally commonly sometimes occasionally rarely seldom "
        "hardly scarcely barely mostly mainly largely partly partially frequently always ever "
        "all every each any some most many few several both either entirely completely "
        "approximately about around roughly almost nearly circa between atleast atmost "
        # under which conditions, and when
        "if when whenever where wherever while whilst until till before after since once during "
        "though although however provided assuming depending default otherwise instead rather "
        "whether currently initially temporarily formerly previously eventually "
        # of what standing
        "deprecated obsolete legacy experimental beta alpha provisional preliminary draft planned "
        "proposed recommended discouraged optional unsupported unofficial "
        # why
        "because therefore thus hence consequently "
        # how much at most
        "just merely even also alone".split()
    ),
    opposites=(
        "enable enabled activate activated|disable disabled deactivate deactivated",
        "allow allowed permit permitted accept accepted|"
        "forbid forbidden forbids deny denied disallow disallowed prohibit prohibited prevent "
        "prevented reject rejected refuse refused block blocked",
        "include included contain|exclude excluded omit omitted",
        "required require mandatory compulsory obligatory necessary needed need|"
        "optional unnecessary unneeded",
        "valid|invalid",
        "possible|impossible",
        "able|unable",
        "visible|invisible hidden",
        "mutable|immutable",
        "active|inactive",
        "present|absent missing",
        "connect connected|disconnect disconnected",
        "attach attached|detach detached",
        "appear|disappear",
        "agree|disagree",
        "correct|incorrect wrong",
        "complete|incomplete",
        "compatible|incompatible",
        "consistent|inconsistent",
        "dependent|independent",
        "direct directly|indirect indirectly",
        "sensitive|insensitive",
        "sufficient|insufficient",
        "accessible|inaccessible",
        "legal|illegal",
        "regular|irregular",
        "relevant|irrelevant",
        "reversible|irreversible",
        "online|offline",
        "succeed success successful successfully pass|fail failed failure",
        "synchronous synchronously|asynchronous asynchronously async",
        "public|private",
        "inclusive|exclusive",
        "same equal identical|different differ unequal",
        "absolute|relative",
        "persistent permanent permanently|temporary transient",
        "empty|nonempty",
        "trust trusted|distrust mistrust",
        "continue|discontinue abort",
    ),
    directions=(
        "more greater larger bigger higher|less fewer smaller lesser lower",
        "above over|below under beneath",
        "maximum max maximal highest largest greatest most|"
        "minimum min minimal lowest smallest least fewest",
        "before prior preceding earlier|after following afterwards later subsequent",
        "older oldest|newer newest",
        "increase increasing raise rise grow|decrease decreasing reduce shrink drop",
        "first|last final",
        "read reads|write writes written",
        "start begin|stop end finish",
        "open opened|close closed",
        "add added append|remove removed delete deleted",
        "create created|destroy destroyed delete deleted",
        "insert|delete",
        "send sends sent|receive received",
        "import|export",
        "encode encoding|decode decoding",
        "encrypt|decrypt",
        "serialise serialize|deserialise deserialize",
        "compress|decompress",
        "commit committed|rollback",
        "internal internally|external externally",
        "local locally|remote remotely",
        "global globally|local locally",
        "input|output",
        "source|destination target",
        "left|right",
        "top|bottom",
        "up upward upwards|down downward downwards",
        "upper uppercase|lower lowercase",
        "high|low",
        "long longer longest|short shorter shortest",
        "large|small",
        "fast faster fastest quick quicker quickest|slow slower slowest",
        "early earliest|late latest",
        "old|new",
        "better best|worse worst",
        "ascending|descending",
        "positive|negative",
        "static statically|dynamic dynamically",
        "manual manually|automatic automatically",
        "show shown|hide hidden",
        "cheap cheaper|expensive",
        "strong stronger|weak weaker",
        "horizontal|vertical",
        "horizontally|vertically",
        "upgrade|downgrade",
        "push|pull",
        "eager eagerly|lazy lazily",
        "implicit implicitly|explicit explicitly",
        "forward forwards|backward backwards",
        "inside within|outside",
        "singular|plural",
        "opt-in|opt-out",
    ),
)

_GERMAN: Final = PolarWords(
    negators=frozenset(
        [
            "nicht",
            "nichts",
            "nie",
            "niemals",
            "kein",
            "keine",
            "keinen",
            "keinem",
            "keiner",
            "keines",
            "weder",
            "ohne",
            "niemand",
            "nirgends",
            "nirgendwo",
        ]
    ),
    exclusive=frozenset(["nur", "ausschließlich", "ausschliesslich", "lediglich"]),
    exceptions=frozenset(["außer", "ausser", "ausgenommen"]),
    hedges=frozenset(
        [
            "kann",
            "können",
            "könnte",
            "darf",
            "dürfen",
            "soll",
            "sollte",
            "sollten",
            "muss",
            "müssen",
            "wird",
            "vielleicht",
            "möglicherweise",
            "wahrscheinlich",
            "wohl",
            "meist",
            "meistens",
            "oft",
            "häufig",
            "manchmal",
            "selten",
            "normalerweise",
            "gewöhnlich",
            "immer",
            "alle",
            "jede",
            "jeder",
            "jedes",
            "einige",
            "viele",
            "wenige",
            "etwa",
            "ungefähr",
            "rund",
            "mindestens",
            "höchstens",
            "bis",
            "falls",
            "wenn",
            "sofern",
            "solange",
            "bevor",
            "nachdem",
            "seit",
            "standardmäßig",
            "standardmaessig",
            "veraltet",
            "experimentell",
            "derzeit",
            "weil",
            "deshalb",
            "auch",
        ]
    ),
    opposites=(
        "aktiviert aktivieren eingeschaltet|deaktiviert deaktivieren ausgeschaltet",
        "erlaubt erlauben zul\u00e4ssig|verboten verbieten unzul\u00e4ssig",
        "erforderlich n\u00f6tig notwendig|optional unn\u00f6tig",
        "g\u00fcltig|ung\u00fcltig",
        "m\u00f6glich|unm\u00f6glich",
        "sichtbar|unsichtbar",
    ),
    directions=(
        "mehr gr\u00f6\u00dfer h\u00f6her|weniger kleiner niedriger",
        "vor vorher|nach nachher",
        "erste ersten erster|letzte letzten letzter",
        "maximum maximal h\u00f6chstens|minimum minimal mindestens",
        "\u00fcber|unter",
    ),
)

_FRENCH: Final = PolarWords(
    # `ne` alone: `ne ... pas` is one denial, and so is `ne ... jamais`.
    negators=frozenset(["ne", "n'", "sans", "non", "ni", "aucun", "aucune"]),
    exclusive=frozenset(["seulement", "uniquement", "exclusivement", "seul", "seule"]),
    exceptions=frozenset(["sauf", "excepté", "hormis"]),
    hedges=frozenset(
        [
            "peut",
            "peuvent",
            "pourrait",
            "doit",
            "doivent",
            "devrait",
            "peut-être",
            "probablement",
            "souvent",
            "généralement",
            "normalement",
            "parfois",
            "rarement",
            "toujours",
            "tous",
            "toutes",
            "tout",
            "chaque",
            "quelques",
            "plusieurs",
            "environ",
            "presque",
            "si",
            "lorsque",
            "quand",
            "avant",
            "après",
            "jusqu'à",
            "depuis",
            "défaut",
            "obsolète",
            "expérimental",
            "actuellement",
            "parce",
            "donc",
            "aussi",
        ]
    ),
    opposites=(
        "activ\u00e9 activ\u00e9e activer|d\u00e9sactiv\u00e9 d\u00e9sactiv\u00e9e d\u00e9sactiver",
        "autoris\u00e9 autoris\u00e9e permis|interdit interdite",
        "obligatoire n\u00e9cessaire requis requise|facultatif facultative optionnel optionnelle",
        "valide|invalide",
        "possible|impossible",
        "visible|invisible",
    ),
    directions=(
        "plus sup\u00e9rieur sup\u00e9rieure|moins inf\u00e9rieur inf\u00e9rieure",
        "avant|apr\u00e8s",
        "premier premi\u00e8re|dernier derni\u00e8re",
        "maximum maximal|minimum minimal",
    ),
)

_SPANISH: Final = PolarWords(
    negators=frozenset(
        [
            "no",
            "nunca",
            "jamás",
            "ningún",
            "ninguno",
            "ninguna",
            "nada",
            "nadie",
            "ni",
            "sin",
            "tampoco",
        ]
    ),
    exclusive=frozenset(["solo", "sólo", "solamente", "únicamente", "exclusivamente"]),
    exceptions=frozenset(["salvo", "excepto"]),
    hedges=frozenset(
        [
            "puede",
            "pueden",
            "podría",
            "debe",
            "deben",
            "debería",
            "quizás",
            "probablemente",
            "normalmente",
            "generalmente",
            "raramente",
            "siempre",
            "todos",
            "todas",
            "todo",
            "cada",
            "algunos",
            "algunas",
            "varios",
            "aproximadamente",
            "casi",
            "si",
            "cuando",
            "antes",
            "después",
            "hasta",
            "desde",
            "defecto",
            "predeterminado",
            "obsoleto",
            "experimental",
            "actualmente",
            "porque",
            "también",
        ]
    ),
    opposites=(
        "activado activada activar habilitado habilitada|"
        "desactivado desactivada desactivar deshabilitado deshabilitada",
        "permitido permitida|prohibido prohibida",
        "obligatorio obligatoria necesario necesaria requerido|opcional",
        "v\u00e1lido v\u00e1lida|inv\u00e1lido inv\u00e1lida",
        "posible|imposible",
        "visible|invisible",
    ),
    directions=(
        "m\u00e1s mayor|menos menor",
        "antes|despu\u00e9s",
        "primero primera|\u00faltimo \u00faltima",
        "m\u00e1ximo m\u00e1xima|m\u00ednimo m\u00ednima",
    ),
)

TABLES: Final[dict[str, PolarWords]] = {
    "en": _ENGLISH,
    "de": _GERMAN,
    "fr": _FRENCH,
    "es": _SPANISH,
}
"""The words of a language, by its ISO 639-1 code."""


@dataclass(frozen=True)
class Side:
    """One side of a pair of antonyms; `complementary` ones are turned round by a negator."""

    pair: str
    is_second: bool
    complementary: bool


def has_table(language: str) -> bool:
    """Say whether a language tag (`de-AT` as `de`) has words of its own here."""
    return _code(language) in TABLES


@cache
def words_for(language: str) -> PolarWords:
    """Return the words to look for: those of a language and the English ones."""
    own = TABLES.get(_code(language), _ENGLISH)
    return PolarWords(
        negators=_ENGLISH.negators | own.negators,
        exclusive=_ENGLISH.exclusive | own.exclusive,
        exceptions=_ENGLISH.exceptions | own.exceptions,
        hedges=_ENGLISH.hedges | own.hedges,
    )


@cache
def sides_for(language: str) -> dict[str, tuple[Side, ...]]:
    """Return the sides that each word is on, by its stem."""
    sides: dict[str, dict[Side, None]] = {}
    for code in dict.fromkeys(("en", _code(language))):
        table = TABLES.get(code)
        if table is None:
            continue
        rows = [(row, True) for row in table.opposites] + [(r, False) for r in table.directions]
        for row, complementary in rows:
            for is_second, words in enumerate(row.split("|")):
                side = Side(row, bool(is_second), complementary)
                for word in words.split():
                    sides.setdefault(stem(word, code), {})[side] = None
    return {word: tuple(of_word) for word, of_word in sides.items()}


def _code(language: str) -> str:
    return language.partition("-")[0].lower()
