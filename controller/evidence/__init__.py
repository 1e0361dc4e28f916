"""Evidence, pure: text, quotes, facts and their verification, windows, score, report."""
