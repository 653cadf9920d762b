"""Functions of another file than the kernel that calls them."""


def scaled(ref, row, factor):
    value = ref[row, :]  # @read
    return value * factor


def both(x_ref, o_ref, row):
    o_ref[row, :] = scaled(x_ref, row, 2.0)  # @nested
