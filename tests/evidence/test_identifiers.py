"""DOIs and arXiv ids in URLs: two pages that share one are the same work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.evidence.identifiers import work_identifiers


@pytest.mark.parametrize(
    ("url", "identifiers"),
    [
        ("https://doi.org/10.1000/182", {"doi:10.1000/182"}),
        ("https://dx.doi.org/10.1000/ABC.def", {"doi:10.1000/abc.def"}),
        ("https://doi.org/10.1000%2F182", {"doi:10.1000/182"}),
        ("https://onlinelibrary.wiley.com/doi/full/10.1002/abc.1", {"doi:10.1002/abc.1"}),
        ("https://onlinelibrary.wiley.com/doi/pdf/10.1002/abc.1", {"doi:10.1002/abc.1"}),
        ("https://dl.acm.org/doi/10.1145/3292500.3330701", {"doi:10.1145/3292500.3330701"}),
        (
            "https://link.springer.com/content/pdf/10.1007/s00-1_2.pdf",
            {"doi:10.1007/s00-1_2"},
        ),
        (
            "https://www.frontiersin.org/articles/10.3389/fpsyg.2020.1/full",
            {"doi:10.3389/fpsyg.2020.1"},
        ),
        (
            "https://journals.plos.org/plosone/article?id=10.1371/journal.pone.0123456&x=1",
            {"doi:10.1371/journal.pone.0123456"},
        ),
        ("https://a.example/?doi=10.1000%2f182#top", {"doi:10.1000/182"}),
        ("https://doi.org/10.1002/(SICI)1097-0258(199)17:1<1::AID>3.0.CO;2-R/pdf",
         {"doi:10.1002/(sici)1097-0258(199)17:1<1::aid>3.0.co;2-r"}),
        ("https://arxiv.org/abs/2101.00001", {"arxiv:2101.00001"}),
        ("http://www.arxiv.org/abs/2101.00001v3", {"arxiv:2101.00001"}),
        ("https://export.arxiv.org/pdf/2101.00001v2.pdf", {"arxiv:2101.00001"}),
        ("https://arxiv.org/html/2101.00001v1/", {"arxiv:2101.00001"}),
        ("https://arxiv.org/abs/hep-th/9901001", {"arxiv:hep-th/9901001"}),
        ("https://arxiv.org/abs/math.GT/0309136v1", {"arxiv:math.gt/0309136"}),
        ("https://ar5iv.org/html/0704.0001", {"arxiv:0704.0001"}),
        (
            "https://doi.org/10.48550/arXiv.2101.00001",
            {"doi:10.48550/arxiv.2101.00001", "arxiv:2101.00001"},
        ),
        # what names no work
        ("https://a.example/10.1000", set()),
        ("https://a.example/v10.1000/182", set()),
        ("https://a.example/?q=10.1000/182", set()),
        ("https://a.example/#10.1000/182", set()),
        ("https://a.example/abs/2101.00001", set()),
        ("https://notarxiv.org/abs/2101.00001", set()),
        ("https://arxiv.org.example/abs/2101.00001", set()),
        ("https://arxiv.org/list/cs.AI/2101", set()),
        ("https://arxiv.org/abs/2101.1", set()),
        ("file:///10.1000/182", set()),
        ("", set()),
    ],
)  # fmt: skip
def test_what_a_url_names(url: str, identifiers: set[str]) -> None:
    assert work_identifiers(url) == identifiers


@given(st.text())
def test_any_text_may_stand_for_a_url(text: str) -> None:
    for url in (text, f"https://arxiv.org/{text}", f"https://doi.org/10.1000/{text}"):
        assert all(one.startswith(("doi:10.", "arxiv:")) for one in work_identifiers(url))


@given(
    st.from_regex("10[.][0-9]{4,9}/[a-z0-9]{1,8}([.-][a-z0-9]{1,8})?", fullmatch=True),
    st.sampled_from(["", "/full", "/pdf", "/abstract", "/"]),
)
def test_views_of_a_work_name_the_same_work(doi: str, view: str) -> None:
    if doi.endswith((".full", ".htm", ".html", ".pdf", ".xml")):
        doi += "1"
    assert work_identifiers(f"https://doi.org/{doi}{view}") == {f"doi:{doi}"}
