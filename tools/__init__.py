"""Development tools: what generates the committed files."""
