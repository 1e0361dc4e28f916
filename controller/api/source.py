"""`ResearchSource`: where a task may look."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from controller.api.base import ApiModel, Count, Digest, Percent, json_name
from controller.api.meta import Condition, ObjectMeta, ObjectReference, SecretReference
from controller.api.schema import Rule, listed, listed_as_set, rules


class SourceType(StrEnum):
    """What kind of place a source is; exactly the member of that name is set."""

    CORPUS = "Corpus"
    MEDIA_WIKI = "MediaWiki"
    SEARXNG = "SearXNG"
    WEB = "Web"
    FEED = "Feed"
    ARXIV = "ArXiv"
    BRAVE = "Brave"
    TAVILY = "Tavily"


Address = Annotated[str, Field(min_length=1, max_length=2048, pattern=r"^https?://\S+$")]
"""Where a server is asked: a URL without a user, a password or a fragment."""

HostName = Annotated[
    str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")
]
"""A host in ASCII and lower case, such as `docs.example.org`."""

Words = Annotated[str, Field(min_length=1, max_length=256)]
"""A list of names as a search engine takes it, separated by commas."""


class Corpus(ApiModel):
    """A set of documents that is read whole: exactly one of a directory and ConfigMaps."""

    model_config = rules(
        Rule(
            "has(self.directory) != has(self.configMapRefs)",
            "exactly one of directory and configMapRefs must be set",
        )
    )

    directory: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=512,
            description="A directory below the operator's corpus root, such as `django-docs`.",
        ),
    ] = None
    config_map_refs: Annotated[
        tuple[ObjectReference, ...] | None, Field(min_length=1, max_length=16), listed("name")
    ] = None


class MediaWiki(ApiModel):
    """A wiki that runs MediaWiki; a citation names the revision that was read."""

    api_url: Annotated[
        Address, Field(description="Its `api.php`, such as `https://en.wikipedia.org/w/api.php`.")
    ]


class SearXNG(ApiModel):
    """A SearXNG instance, with its JSON format switched on; the pages that it finds are read."""

    base_url: Address
    categories: Words | None = None
    engines: Words | None = None


class Web(ApiModel):
    """Pages of the web that are named, and those that they link to on allowed hosts."""

    urls: Annotated[tuple[Address, ...], Field(min_length=1, max_length=20), listed_as_set()]
    allowed_hosts: Annotated[
        tuple[HostName, ...],
        Field(
            max_length=20,
            description="Hosts that links may lead to; those of `urls` are always among them.",
        ),
        listed_as_set(),
    ] = ()
    max_depth: Annotated[
        int, Field(ge=0, le=2, description="How many links away from `urls` a page may be.")
    ] = 0


class Feed(ApiModel):
    """An RSS or Atom feed; the pages of its entries are read."""

    url: Address


class ArXiv(ApiModel):
    """The preprints of arXiv, by its public interface; abstracts are read, not the papers."""

    base_url: Address = "https://export.arxiv.org"


class Brave(ApiModel):
    """Brave's search engine; it needs a key. The pages that it finds are read."""

    base_url: Address = "https://api.search.brave.com"


class Tavily(ApiModel):
    """Tavily's search engine; it needs a key. The pages that it finds are read."""

    base_url: Address = "https://api.tavily.com"


class Robots(StrEnum):
    """Whether a site's robots file is obeyed."""

    RESPECT = "Respect"
    IGNORE = "Ignore"


MEMBERS: Final = {
    SourceType.CORPUS: "corpus",
    SourceType.MEDIA_WIKI: "media_wiki",
    SourceType.SEARXNG: "searxng",
    SourceType.WEB: "web",
    SourceType.FEED: "feed",
    SourceType.ARXIV: "arxiv",
    SourceType.BRAVE: "brave",
    SourceType.TAVILY: "tavily",
}
"""The member of the spec that belongs to each type, by its name in Python."""

ADDRESSES: Final = (
    ("media_wiki", "api_url"),
    ("searxng", "base_url"),
    ("feed", "url"),
    ("arxiv", "base_url"),
    ("brave", "base_url"),
    ("tavily", "base_url"),
)
"""Where the address of a remote source stands: member and field. `web` has several."""

WITH_KEY: Final = (SourceType.BRAVE, SourceType.TAVILY)
"""The types that nobody may ask without a key."""

USER_INFO: Final = "^https?://[^/?#]*@"
"""What the beginning of a URL with a user looks like."""


class ResearchSourceSpec(ApiModel):
    """Where to look, how long to wait and how much to take."""

    model_config = rules(
        *(
            Rule(
                f"(self.type == '{kind}') == has(self.{json_name(member)})",
                f"{json_name(member)} must be set exactly when type is {kind}",
            )
            for kind, member in MEMBERS.items()
        ),
        *(
            Rule(
                f"self.type != '{kind}' || has(self.credentialsSecretRef)",
                f"{kind} needs credentialsSecretRef: the Secret that has its key",
            )
            for kind in WITH_KEY
        ),
        # Rules of the whole spec: a refusal of the field alone would repeat the password.
        *(
            Rule(
                f"!has(self.{member}) || !has(self.{member}.{field}) || "
                f"!self.{member}.{field}.matches('{USER_INFO}')",
                f"{member}.{field} may name no user and no password; a key belongs in the Secret "
                "of credentialsSecretRef",
            )
            for member, field in ((json_name(m), json_name(f)) for m, f in ADDRESSES)
        ),
        Rule(
            f"!has(self.web) || self.web.urls.all(u, !u.matches('{USER_INFO}'))",
            "web.urls may name no user and no password",
        ),
    )

    type: SourceType
    corpus: Corpus | None = None
    media_wiki: MediaWiki | None = None
    searxng: SearXNG | None = None
    web: Web | None = None
    feed: Feed | None = None
    arxiv: ArXiv | None = None
    brave: Brave | None = None
    tavily: Tavily | None = None
    credentials_secret_ref: SecretReference | None = None
    priority: Percent = 50
    origin_key: Annotated[str | None, Field(min_length=1, max_length=253)] = None
    max_results: Annotated[int, Field(ge=1, le=50)] = 10
    timeout_seconds: Annotated[int, Field(ge=1, le=300)] = 20
    robots: Robots = Robots.RESPECT


def addresses_of(spec: ResearchSourceSpec) -> tuple[tuple[str, str], ...]:
    """Return the addresses that a spec names: the field of each, as it is written, and its URL."""
    found = [
        (f"{json_name(member)}.{json_name(field)}", getattr(of_type, field))
        for member, field in ADDRESSES
        if (of_type := getattr(spec, member)) is not None
    ]
    urls = spec.web.urls if spec.web is not None else ()
    return (*found, *((f"web.urls[{at}]", url) for at, url in enumerate(urls)))


class ResearchSourceStatus(ApiModel):
    """What the operator has seen of the source."""

    observed_generation: Annotated[int, Field(ge=-1, le=2**53 - 1)] = -1
    conditions: Annotated[tuple[Condition, ...], Field(max_length=8), listed("type")] = ()
    digest: Digest | None = None
    documents: Count | None = None


class ResearchSource(ApiModel):
    """A source, as stored."""

    metadata: ObjectMeta
    spec: ResearchSourceSpec
    status: ResearchSourceStatus = ResearchSourceStatus()
