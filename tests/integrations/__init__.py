"""Our accountants inside the real Opacus and jax_privacy; `make integrations` runs these."""
