"""The liar: an endpoint that knows the truth and says something else, and who finds it out."""
