"""What is known about items and people: priors, what answers say, and the beliefs that follow."""
