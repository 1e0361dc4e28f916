"""The words that turn a sentence round, restrict it, or make it less certain, by language.

English is thorough, since most sources are in it; German, French and Spanish are short. English
words count in every language: a source may be in English where a task is not. A language that is
not here has no table: what is worded in it is left to a soft check.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from controller.evidence.listing import listed
from controller.evidence.tokens import stem


@dataclass(frozen=True)
class PolarWords:
    """The words of one language.

    `opposites` are complementary: what is not the one is the other, so that a negator before one
    is the other (`not enabled`, `disabled`). `directions` are not: what is not more may be equal.
    Each row has its two sides, parted by a bar. The hedges say how certain a
    sentence is, how often, how much, when and under which conditions it holds, and why.
    """

    negators: frozenset[str]
    exclusive: frozenset[str]
    exceptions: frozenset[str]
    hedges: frozenset[str]
    opposites: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()


def _words(text: str) -> frozenset[str]:
    return frozenset(listed(text))


def _rows(text: str) -> tuple[str, ...]:
    return listed(text, ";")


_ENGLISH: Final = PolarWords(
    negators=_words(
        """
        arent cannot cant couldnt didnt doesnt dont hadnt hasnt havent isnt lack lacked lacking
        lacks mustnt neither never no nobody none noone nor not nothing nowhere shouldnt wasnt
        werent without wont wouldnt
        """
    ),
    exclusive=_words("exclusively only solely"),
    exceptions=_words("except excepting excluding unless"),
    hedges=_words(
        """
        may might can could should must shall would will ought probably possibly likely perhaps
        maybe presumably apparently supposedly seems appears potentially theoretically
        usually often generally typically normally commonly sometimes occasionally rarely seldom
        hardly scarcely barely mostly mainly largely partly partially frequently always ever all
        every each any some most many few several both either entirely completely approximately
        about around roughly almost nearly circa between atleast atmost
        if when whenever where wherever while whilst until till before after since once during
        though although however provided assuming depending default otherwise instead rather
        whether currently initially temporarily formerly previously eventually
        deprecated obsolete legacy experimental beta alpha provisional preliminary draft planned
        proposed recommended discouraged optional unsupported unofficial
        because therefore thus hence consequently just merely even also alone
        """
    ),
    opposites=_rows(
        """
        enable enabled activate activated | disable disabled deactivate deactivated;
        allow allowed permit permitted accept accepted |
            forbid forbidden forbids deny denied disallow disallowed prohibit prohibited prevent
            prevented reject rejected refuse refused block blocked;
        include included contain | exclude excluded omit omitted;
        required require mandatory compulsory obligatory necessary needed need |
            optional unnecessary unneeded;
        valid | invalid;
        possible | impossible;
        able | unable;
        visible | invisible hidden;
        mutable | immutable;
        active | inactive;
        present | absent missing;
        connect connected | disconnect disconnected;
        attach attached | detach detached;
        appear | disappear;
        agree | disagree;
        correct | incorrect wrong;
        complete | incomplete;
        compatible | incompatible;
        consistent | inconsistent;
        dependent | independent;
        direct directly | indirect indirectly;
        sensitive | insensitive;
        sufficient | insufficient;
        accessible | inaccessible;
        legal | illegal;
        regular | irregular;
        relevant | irrelevant;
        reversible | irreversible;
        online | offline;
        succeed success successful successfully pass | fail failed failure;
        synchronous synchronously | asynchronous asynchronously async;
        public | private;
        inclusive | exclusive;
        same equal identical | different differ unequal;
        absolute | relative;
        persistent permanent permanently | temporary transient;
        empty | nonempty;
        trust trusted | distrust mistrust;
        continue | discontinue abort
        """
    ),
    directions=_rows(
        """
        more greater larger bigger higher | less fewer smaller lesser lower;
        above over | below under beneath;
        maximum max maximal highest largest greatest most |
            minimum min minimal lowest smallest least fewest;
        before prior preceding earlier | after following afterwards later subsequent;
        older oldest | newer newest;
        increase increasing raise rise grow | decrease decreasing reduce shrink drop;
        first | last final;
        once | twice thrice;
        support supported supports | drop dropped drops;
        atleast | atmost;
        read reads | write writes written;
        start begin | stop end finish;
        open opened | close closed;
        add added append | remove removed delete deleted;
        create created | destroy destroyed delete deleted;
        insert | delete;
        send sends sent | receive received;
        import | export;
        encode encoding | decode decoding;
        encrypt | decrypt;
        serialise serialize | deserialise deserialize;
        compress | decompress;
        commit committed | rollback;
        internal internally | external externally;
        local locally | remote remotely;
        global globally | local locally;
        input | output;
        source | destination target;
        left | right;
        top | bottom;
        up upward upwards | down downward downwards;
        upper uppercase | lower lowercase;
        high | low;
        long longer longest | short shorter shortest;
        large | small;
        fast faster fastest quick quicker quickest | slow slower slowest;
        early earliest | late latest;
        old | new;
        better best | worse worst;
        ascending | descending;
        positive | negative;
        static statically | dynamic dynamically;
        manual manually | automatic automatically;
        show shown | hide hidden;
        cheap cheaper | expensive;
        strong stronger | weak weaker;
        horizontal | vertical;
        horizontally | vertically;
        upgrade | downgrade;
        push | pull;
        eager eagerly | lazy lazily;
        implicit implicitly | explicit explicitly;
        forward forwards | backward backwards;
        inside within | outside;
        singular | plural;
        opt-in | opt-out
        """
    ),
)

_GERMAN: Final = PolarWords(
    negators=_words(
        """
        kein keine keinem keinen keiner keines nicht nichts nie niemals niemand nirgends
        nirgendwo ohne weder
        """
    ),
    exclusive=_words("ausschliesslich ausschließlich lediglich nur"),
    exceptions=_words("ausgenommen ausser außer"),
    hedges=_words(
        """
        alle auch bevor bis darf derzeit deshalb dürfen einige etwa experimentell falls
        gewöhnlich häufig höchstens immer jede jeder jedes kann können könnte manchmal meist
        meistens mindestens muss möglicherweise müssen nachdem normalerweise oft rund seit
        selten sofern solange soll sollte sollten standardmaessig standardmäßig ungefähr
        veraltet viele vielleicht wahrscheinlich weil wenige wenn wird wohl
        """
    ),
    opposites=_rows(
        """
        aktiviert aktivieren eingeschaltet | deaktiviert deaktivieren ausgeschaltet;
        erlaubt erlauben zulässig | verboten verbieten unzulässig;
        erforderlich nötig notwendig | optional unnötig;
        gültig | ungültig;
        möglich | unmöglich;
        sichtbar | unsichtbar
        """
    ),
    directions=_rows(
        """
        mehr größer höher | weniger kleiner niedriger;
        vor vorher | nach nachher;
        erste ersten erster | letzte letzten letzter;
        maximum maximal höchstens | minimum minimal mindestens;
        über | unter
        """
    ),
)

_FRENCH: Final = PolarWords(
    # `ne` alone: `ne ... pas` is one denial, and so is `ne ... jamais`.
    negators=_words(
        """
        aucun aucune n' ne ni non sans
        """
    ),
    exclusive=_words("exclusivement seul seule seulement uniquement"),
    exceptions=_words("excepté hormis sauf"),
    hedges=_words(
        """
        actuellement après aussi avant chaque depuis devrait doit doivent donc défaut environ
        expérimental généralement jusqu'à lorsque normalement obsolète parce parfois peut peut-
        être peuvent plusieurs pourrait presque probablement quand quelques rarement si souvent
        toujours tous tout toutes
        """
    ),
    opposites=_rows(
        """
        activé activée activer | désactivé désactivée désactiver;
        autorisé autorisée permis | interdit interdite;
        obligatoire nécessaire requis requise | facultatif facultative optionnel optionnelle;
        valide | invalide;
        possible | impossible;
        visible | invisible
        """
    ),
    directions=_rows(
        """
        plus supérieur supérieure | moins inférieur inférieure;
        avant | après;
        premier première | dernier dernière;
        maximum maximal | minimum minimal
        """
    ),
)

_SPANISH: Final = PolarWords(
    negators=_words(
        """
        jamás nada nadie ni ninguna ninguno ningún no nunca sin tampoco
        """
    ),
    exclusive=_words("exclusivamente solamente solo sólo únicamente"),
    exceptions=_words("excepto salvo"),
    hedges=_words(
        """
        actualmente algunas algunos antes aproximadamente cada casi cuando debe deben debería
        defecto desde después experimental generalmente hasta normalmente obsoleto podría porque
        predeterminado probablemente puede pueden quizás raramente si siempre también todas todo
        todos varios
        """
    ),
    opposites=_rows(
        """
        activado activada activar habilitado habilitada |
            desactivado desactivada desactivar deshabilitado deshabilitada;
        permitido permitida | prohibido prohibida;
        obligatorio obligatoria necesario necesaria requerido | opcional;
        válido válida | inválido inválida;
        posible | imposible;
        visible | invisible
        """
    ),
    directions=_rows(
        """
        más mayor | menos menor;
        antes | después;
        primero primera | último última;
        máximo máxima | mínimo mínima
        """
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
