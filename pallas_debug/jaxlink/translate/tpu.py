"""Equations of the tpu family."""
