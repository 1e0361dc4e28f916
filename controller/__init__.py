"""Fixpoint: research that converges, run by a Kubernetes operator."""

__version__ = "0.1.0"
