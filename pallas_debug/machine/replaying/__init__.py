"""Grid points that go the way of an earlier one: the same rows, only the values anew."""
