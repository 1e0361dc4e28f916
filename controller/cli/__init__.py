"""The command line: the loop without a cluster, and reports and proofs from either home."""
