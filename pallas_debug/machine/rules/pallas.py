"""Rules of the pallas family."""
