"""What stands between a remote source and the network: guarded, bounded and polite."""
