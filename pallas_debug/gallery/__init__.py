"""Small kernels to look at; the user's side of the fence, so these import JAX."""
