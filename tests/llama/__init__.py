"""A real model for tests, benchmarks and the demonstration: llama.cpp, in a process of its own.

Both its server and its weights are Python packages (requirements-llama.lock); nothing is fetched
when it runs.
"""
