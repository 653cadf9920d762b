"""Equations of the gpu family."""
