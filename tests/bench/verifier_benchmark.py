"""False accepts and false rejects of the verifier over Django's documentation.

    python -m tests.bench.verifier_benchmark [--count N] [--seed S]

Looks up N sentences in documents that do not say them (also as PDF files give these), N with their
words in another order, N with one number, negation or name changed, and N honest copies with the
noise of a copy. N changed sentences are also offered as claims about their own quotes, which is
what P3 to P5 are for, and is told without a target. Prints JSON. Ends with 1 if one of the first
three kinds is found, or more than 1 % of the honest ones are not.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from demo.corpus import django_docs
from tests.verifier import measure
from tests.verifier.texts import pages_below, sentences_of

COUNT = 10_000
NOT_TO_BE_FOUND = ("otherDocuments", "otherPDFFiles", "anotherOrder", "changedQuotes")
MOST_REFUSED_PERCENT = 1


def shown(tally: measure.Tally) -> dict[str, Any]:
    """Return a tally as JSON."""
    return {
        "tried": tally.tried.total(),
        "accepted": tally.accepted.total(),
        "byKind": {kind: [tally.accepted[kind], tried] for kind, tried in tally.tried.items()},
        "first": tally.shown,
    }


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    count, seed, began = options.count, options.seed, time.process_time()
    pages = pages_below(django_docs())
    said = list(sentences_of(pages))
    tallies = {
        "otherDocuments": measure.of_other_documents(pages, said, count, seed),
        "otherPDFFiles": measure.of_other_pdf_files(pages, said, count, seed),
        "anotherOrder": measure.in_another_order(said, count, seed),
        "changedQuotes": measure.changed_quotes(said, count, seed),
        "changedClaims": measure.changed_claims(said, count, seed),
        "honestQuotes": measure.honest_quotes(said, count, seed),
        "honestQuotesOfPDFFiles": measure.honest_quotes_of_pdf_files(pages, said, count, seed),
    }
    result: dict[str, Any] = {"documents": len(pages), "sentences": len(said)}
    result |= {name: shown(tally) for name, tally in tallies.items()}
    result["processorSeconds"] = round(time.process_time() - began, 1)
    print(json.dumps(result, indent=2, ensure_ascii=False))
    honest = result["honestQuotes"]
    refused = honest["tried"] - honest["accepted"]
    is_false = any(result[name]["accepted"] for name in NOT_TO_BE_FOUND)
    return 1 if is_false or refused * 100 > MOST_REFUSED_PERCENT * honest["tried"] else 0


if __name__ == "__main__":
    sys.exit(main())
