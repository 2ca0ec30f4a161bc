"""Compiled rounds: plain functions on plain arrays, no class, file, clock or hidden random state."""
