"""Queries and questions that are written without a model."""

from controller.evidence.terms import content_terms


def first_query(question: str, language: str = "en") -> str:
    return " ".join(content_terms(question, language))
