"""What learners hold: packed states, and the calls into the engine that change them."""
