"""The paper's experiments: what it says, the cells that are run, and what our runs say about it."""
