"""Experiments: learners run on data and compared. They compute; the command line shows."""
