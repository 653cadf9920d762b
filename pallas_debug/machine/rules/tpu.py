"""Rules of the tpu family."""
