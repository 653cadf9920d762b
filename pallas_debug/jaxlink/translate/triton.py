"""Equations of the triton family."""
