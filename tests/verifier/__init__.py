"""False accepts and false rejects of the verifier, over the text of a corpus."""
