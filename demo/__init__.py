"""The demonstration: three tasks on a real API server, and what must be true of them."""
