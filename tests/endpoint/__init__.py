"""A real HTTP endpoint that plays a script, and the shapes of what real ones answer."""
