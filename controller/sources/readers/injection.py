"""Text that speaks to a model instead of a reader: found by patterns, and flagged.

A flag is a hint for people, no verdict: text about such attacks looks like one, and an attack in
other words, in letters with spaces between or in base64 passes. Nothing depends on it for safety: a
page's text is data wherever it goes, and what it asks for has no action to be done by
(docs/readers.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_UNSEEN: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe00-\ufe0f]+")
_BEFORE: Final = 100
_AFTER: Final = 240
"""A form is looked for around a word that it has: so far before and behind its beginning."""

_EARLIER: Final = r"(?:previous|prior|preceding|above|earlier|foregoing|original|initial|system)"
_ORDERS: Final = (
    r"(?:instructions?|prompts?|directions?|directives?|commands?|guidelines?|rules|context|"
    r"training|programming|constraints)"
)
_ANSWER: Final = r"(?:answers?|responses?|repl(?:y|ies)|outputs?|summar(?:y|ies))"
_MODEL: Final = (
    r"(?:ai|a\.i\.|llms?|(?:large )?language models?|chatbots?|bots?|(?:ai )?assistants?|"
    r"ai (?:\w+ )?(?:agents?|models?|systems?|crawlers?|readers?))"
)
_SECRETS: Final = (
    r"(?:api keys?|credentials|passwords?|secrets?|access tokens?|private keys?|"
    r"customer (?:list|emails|data|database|records))"
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is looked for: a form, around any of the `words` (literal, in lower case).

    The form sees white space as single spaces, unless it goes `by_line`.
    """

    name: str
    words: tuple[str, ...]
    form: re.Pattern[str]
    by_line: bool = False


def _pattern(name: str, words: str, *forms: str, by_line: bool = False) -> Pattern:
    return Pattern(name, tuple(words.split(",")), re.compile("|".join(forms)), by_line)


_OVERRIDES: Final = "OverridesInstructions"
_ROLES: Final = "MarksRoles"
_TOOLS: Final = "CallsTools"
_DEMANDS: Final = "DemandsBehaviour"
_ADDRESSES: Final = "AddressesModel"

PATTERNS: Final = (
    # What takes a model's instructions away, in the languages that attacks are written in.
    _pattern(
        _OVERRIDES,
        "ignor,disregard,forget",
        rf"\b(?:ignor|disregard|forget)\w*\b[^.!?]{{0,60}}?\b{_EARLIER}\b[^.!?]{{0,30}}?\b{_ORDERS}\b",
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all|what)\b[^.!?]{0,40}?"
        r"\b(?:above|before|previously|so far|told)\b",
        rf"\b(?:ignore|disregard|forget) (?:all )?(?:of )?your {_ORDERS}\b",
        r"\b(?:ignore|disregard) the above ?[.!:]",
    ),
    _pattern(
        _OVERRIDES,
        "overrid,bypass,not follow,n't follow,stop follow",
        r"\b(?:overrid|bypass)\w* (?:all |any )?(?:your|previous|prior|these) (?:\w+ )?"
        r"(?:instructions?|prompts?|directives?|guidelines|safety|guardrails)\b",
        r"\b(?:do not|don't|stop) follow(?:ing)? (?:the |any |all )?(?:your|previous|prior|system) "
        rf"(?:\w+ )?{_ORDERS}\b",
    ),
    _pattern(
        _OVERRIDES,
        "your new ,your real ,your true ,your actual ",
        r"\byour (?:new|real|true|actual) (?:instructions?|task|goal|objective|role|purpose)\b"
        r" ?(?:is|are|:)",
    ),
    _pattern(
        _OVERRIDES,
        "safety protocol,safety guideline,safety check,safety filter,content policy,content filter",
        r"\b(?:safety|content) (?:protocols?|guidelines|checks|filters?|policy)\b[^.!?]{0,60}"
        r"\b(?:disabled|turned off|suspended|lifted|do(?:es)? not apply|not meant for)\b",
        r"\b(?:skip|bypass|disable|ignore|without|no)\b[^.!?]{0,20}"
        r"\b(?:safety|content) (?:protocols?|guidelines|checks|filters?|policy)\b",
    ),
    # German
    _pattern(
        _OVERRIDES,
        "ignorier,vergiss,missacht",
        r"\b(?:ignorier\w*|vergiss|missacht\w*)\b[^.!?]{0,60}"
        r"(?:anweisung|instruktion|vorgabe|befehl|richtlinie)",
    ),
    _pattern(
        _DEMANDS, "systemanweisung,systemprompt", r"\b(?:deine|ihre) system(?:anweisung|prompt)"
    ),
    # French
    _pattern(
        _OVERRIDES,
        "ignore,oubli",
        r"\b(?:ignore[zr]?|oublie[zr]?)\b[^.!?]{0,60}\b(?:instructions|consignes)\b[^.!?]{0,20}"
        r"\b(?:pr\u00e9c\u00e9dentes|ant\u00e9rieures|ci-dessus|donn\u00e9es)",
    ),
    _pattern(_DEMANDS, "instructions syst", r"\b(?:tes|vos) instructions syst\u00e8me"),
    # Spanish, Portuguese, Italian
    _pattern(
        _OVERRIDES,
        "ignor,olvid,esque,dimentica",
        r"\b(?:ignor[aei]\w*|olvid[ae]\w*|esque[c\u00e7]\w*|dimentica\w*)\b[^.!?]{0,60}"
        r"\b(?:instrucciones|instru\u00e7\u00f5es|istruzioni)\b",
    ),
    _pattern(
        _DEMANDS,
        "tus instrucciones,tue istruzioni,suas instru",
        r"\b(?:tus instrucciones (?:de|del) sistema|tue istruzioni di sistema|"
        r"suas instru\u00e7\u00f5es d[eo] sistema)\b",
    ),
    # Dutch, Polish, Russian, Turkish
    _pattern(_OVERRIDES, "negeer", r"\bnegeer\b[^.!?]{0,60}\b(?:instructies|opdrachten)\b"),
    _pattern(
        _OVERRIDES,
        "zignoruj,zapomnij",
        r"\b(?:zignoruj|zapomnij)\b[^.!?]{0,60}(?:instrukcj|polece)",
    ),
    _pattern(
        _OVERRIDES,
        "\u0438\u0433\u043d\u043e\u0440\u0438\u0440,\u0437\u0430\u0431\u0443\u0434\u044c",
        r"\b(?:\u0438\u0433\u043d\u043e\u0440\u0438\u0440|\u0437\u0430\u0431\u0443\u0434\u044c)"
        r"\w*[^.!?]{0,60}(?:\u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446\u0438|"
        r"\u0443\u043a\u0430\u0437\u0430\u043d\u0438)",
    ),
    _pattern(
        _OVERRIDES,
        "\u00f6nceki",
        r"\u00f6nceki[^.!?]{0,40}(?:talimat|komut)\w*[^.!?]{0,30}(?:yok say|unut|g\u00f6rmezden)",
    ),
    # Chinese, Japanese, Korean
    _pattern(
        _OVERRIDES,
        "\u5ffd\u7565,\u5ffd\u89c6,\u65e0\u89c6,\u7121\u8996,\u5ffd\u8996,\u5fd8\u8bb0,\u5fd8\u8a18",
        r"(?:\u5ffd\u7565|\u5ffd\u89c6|\u65e0\u89c6|\u7121\u8996|\u5ffd\u8996|\u5fd8\u8bb0|\u5fd8\u8a18)"
        r"[^\u3002\uff01\uff1f]{0,20}(?:\u6307\u4ee4|\u6307\u793a|\u63d0\u793a)",
    ),
    _pattern(
        _OVERRIDES,
        "\u7121\u8996,\u5fd8\u308c",
        r"(?:\u4ee5\u524d|\u3053\u308c\u307e\u3067|\u4e0a\u8a18|\u524d)\u306e[^\u3002]{0,20}"
        r"(?:\u6307\u793a|\u547d\u4ee4)[^\u3002]{0,10}(?:\u7121\u8996|\u5fd8\u308c)",
    ),
    _pattern(
        _OVERRIDES,
        "\ubb34\uc2dc,\uc78a",
        r"(?:\uc774\uc804|\uc704|\uc55e)[^.]{0,15}(?:\uc9c0\uc2dc|\uba85\ub839|\uc9c0\uce68)"
        r"[^.]{0,10}(?:\ubb34\uc2dc|\uc78a)",
    ),
    # Arabic, Hindi
    _pattern(
        _OVERRIDES,
        "\u062a\u062c\u0627\u0647\u0644,\u0627\u0646\u0633",
        r"(?:\u062a\u062c\u0627\u0647\u0644|\u0627\u0646\u0633)[^.!\u061f]{0,60}"
        r"(?:\u0627\u0644\u062a\u0639\u0644\u064a\u0645\u0627\u062a|\u0627\u0644\u0623\u0648\u0627\u0645\u0631)",
    ),
    _pattern(
        _OVERRIDES,
        "\u0928\u093f\u0930\u094d\u0926\u0947\u0936",
        r"(?:\u092a\u093f\u091b\u0932\u0947|\u092a\u0939\u0932\u0947)[^.!?\u0964]{0,30}"
        r"\u0928\u093f\u0930\u094d\u0926\u0947\u0936[^.!?\u0964]{0,30}"
        r"(?:\u0905\u0928\u0926\u0947\u0916|\u0928\u091c\u0930\u0905\u0902\u0926\u093e\u091c|\u092d\u0942\u0932)",
    ),
    # What looks like a turn of a chat, or the marks that chat templates are made of.
    _pattern(
        _ROLES,
        "<|,[inst],[/inst],<<sys,_of_turn>,<system,<assistant,<developer",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id|channel)\|>",
        r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
        r"<(?:system|assistant|developer)(?:[-_](?:prompt|message|instructions?|reminder))?>",
    ),
    _pattern(
        _ROLES,
        "system,assistant,developer",
        r"(?:^|[\n>])[^\S\n]*(?:###[^\S\n]*|\*\*)?(?:system|assistant|developer)"
        r"(?: (?:prompt|message|instructions?|override|note|notice))?(?:\*\*)?[^\S\n]*:\s*"
        r"(?:you (?:are|must|will|should|have)|ignore|disregard|always|never|do not)\b",
        by_line=True,
    ),
    _pattern(
        _ROLES,
        "[system,[assistant,[developer,[admin,system prompt,system message,system instruction,"
        "hidden instruction,of user input",
        r"\[(?:system|assistant|developer|admin)[ _-]?"
        r"(?:prompt|message|instructions?|override|note|notice)\]",
        r"\b(?:begin|start|end)(?: of)? (?:system|hidden|admin|developer) "
        r"(?:prompt|message|instructions?)\b",
        r"\bend of user (?:input|message|prompt)\b",
    ),
    # What looks like the call of a tool, or asks for one.
    _pattern(
        _TOOLS,
        "tool_,function_call,<invoke,<function=,python_tag",
        r"</?(?:tool_call|function_call|function_calls|tool_use|tool_code|invoke)\b[^<>]{0,80}>",
        r"<function=\w+>|<\|(?:tool_call|python_tag)\|?>",
        r"\"(?:tool_calls|function_call)\" ?: ?[\[{]",
    ),
    _pattern(
        _TOOLS,
        " tool with, tool to ,call send_,call delete_,call fetch_,call transfer_,call upload_,"
        "call read_,call write_,call exec",
        r"\b(?:call|use|invoke|run|execute) (?:the |your )?[\w.`'\"-]{1,40} tool "
        r"(?:with|to (?:send|email|forward|exfiltrate|leak|delete|transfer|upload|post))\b",
        r"\bcall (?:send|delete|fetch|transfer|upload|read|write|exec)\w*_\w+ (?:on|with|to|and)\b",
    ),
    _pattern(
        _TOOLS,
        "api key,credential,password,secret,access token,private key,customer ",
        rf"\b(?:send|email|forward|post|upload|exfiltrate)\b[^.!?]{{0,60}}\b{_SECRETS}\b[^.!?]{{0,60}}"
        r"\bto (?:\S+ )?(?:\S+@\S+|https?://)",
    ),
    # What asks for a behaviour that says nothing to a reader, and shows that a model obeys.
    _pattern(
        _DEMANDS,
        "in your ,to your ,of your ,in every ,in each ,to every ,of every ",
        r"\b(?:include|insert|append|add|put|output|print|write|say|repeat|mention)\b[^.!?]{0,50}"
        r"\b(?:word|string|phrase|token|text|code|sentence|canary|marker|link|url)\b[^.!?]{0,60}?"
        rf"\bin (?:your|every|each)(?: \w+)? {_ANSWER}\b",
        r"\b(?:include|insert|append|add|put|mention)\b[^.!?]{0,80}?\b(?:in|to|at the end of) "
        r"(?:your|every|each)(?: \w+)? (?:summar(?:y|ies)|repl(?:y|ies)|answers?)\b",
        r"\bmust be (?:included|added|appended|repeated|mentioned) (?:in|to|at the end of) "
        r"(?:your|every|each|all|any)(?: \w+)? "
        r"(?:summar(?:y|ies)|repl(?:y|ies)|answers?|reports?)\b",
    ),
    _pattern(
        _DEMANDS,
        "your answer,your response,your repl,your output,your summar,only with,exclusively with,"
        "solely with,just with,nothing else",
        rf"\b(?:begin|start|end|finish|prefix) (?:your)(?: \w+)? {_ANSWER} with\b",
        r"\b(?:respond|reply|answer) (?:only|exclusively|solely|just) with (?:the |exactly )?"
        r"(?:word|string|phrase|token|code|text|\"|'|\u201c)",
        r"\b(?:respond|reply|answer|output)\b[^.!?]{0,60}\band nothing else\b",
    ),
    _pattern(
        _DEMANDS,
        "your system,your initial,your hidden,your original,your full,your prompt,your secret,"
        "your instruction,your api key,your credential,your configuration,words above,"
        "you were given",
        r"\b(?:reveal|print|output|show|repeat|leak|disclose|display|send|tell me|dump)\b"
        r"[^.!?]{0,40}\byour (?:(?:system|initial|hidden|original|full|secret) )*"
        r"(?:prompt|instructions)\b",
        r"\b(?:reveal|leak|disclose|exfiltrate|dump)\b[^.!?]{0,40}\byour "
        r"(?:secrets?|api keys?|credentials|configuration)\b",
        r"\brepeat (?:all )?(?:of )?the (?:words|text) above\b",
        r"\binstructions (?:that )?you were given\b",
    ),
    _pattern(
        _DEMANDS,
        "not tell,not inform,not mention,not reveal,not disclose,not alert,not notify,"
        "without telling,without informing,without alerting,without notifying",
        r"\bdo not (?:tell|inform|mention|reveal|disclose|alert|notify)\b[^.!?]{0,40}"
        r"\bthe (?:user|human|operator)\b(?! agent| name| model)",
        r"\bwithout (?:telling|informing|alerting|notifying) the (?:user|human|operator)\b",
    ),
    _pattern(
        _DEMANDS,
        "base64",
        r"\bdecode\b[^.!?]{0,30}\bbase64\b[^.!?]{0,40}\b(?:do|follow|execute|obey)\b",
    ),
    # What tells a model who it is, or that a text is meant for it.
    _pattern(
        _ADDRESSES,
        " ai, llm, language model, chatbot, bot, assistant",
        r"\b(?:attention|note|notice|message|instructions?|important)(?: to| for|:|,)"
        rf"(?: the| any| all)? {_MODEL}\b",
        r"\(for ai (?:\w+ )?(?:agents?|assistants?|models?)\)",
        rf"\bif you are an? (?:{_MODEL}|automated (?:agent|assistant))\b",
        rf"\b(?:as|you are) an? {_MODEL},? you (?:must|should|will|have to|are required)\b",
        r"\byou are (?:now )?(?:an? )?(?:\w+ )?(?:ai|virtual) (?:assistant|agent|model)\b",
        r"\bpretend (?:that )?you are an? (?:ai|assistant|language model)\b",
    ),
    _pattern(
        _ADDRESSES,
        "developer mode,you are now dan,jailbroken,unfiltered,unrestricted,uncensored",
        r"\byou are (?:now )?(?:in developer mode|dan\b|jailbroken|unrestricted|"
        r"an? (?:unfiltered|unrestricted|uncensored))",
        r"\bact as an? (?:unfiltered|unrestricted|uncensored) ",
    ),
    # Letters that nobody sees and models read: the tag characters of Unicode. Flags have up to six.
    _pattern("HidesLetters", "\U000e0020,\U000e0065", "[\U000e0020-\U000e007e]{8}"),
)
"""What is looked for, by what it would do. Letter case, invisible characters, compatibility forms
and line ends do not matter."""


def suspected_injection(text: str) -> str | None:
    """Return the name of the first of `PATTERNS` that a text shows, or None."""
    plain = text
    if not text.isascii():
        plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    plain = plain.lower()
    flat = " ".join(plain.split())
    for pattern in PATTERNS:
        searched = plain if pattern.by_line else flat
        for word in pattern.words:
            if any(pattern.form.search(around) for around in _around(searched, word)):
                return pattern.name
    return None


def _around(text: str, word: str) -> Iterator[str]:
    """Yield what stands around each place of a word; places within one stretch share it."""
    at = text.find(word)
    while at >= 0:
        end = at + _AFTER
        yield text[max(0, at - _BEFORE) : end]
        at = text.find(word, max(at + 1, end - _BEFORE))
