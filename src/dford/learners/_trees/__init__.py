"""Boosted trees, grown again and again as the log of answers grows."""
