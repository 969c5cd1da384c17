"""What people's frameworks need from here; each module needs the package that it is named after.

* `opacus`: a mechanism for the accountant registry of Opacus;
* `jax_privacy`: accountants for the training analysis and calibration of jax_privacy;
* `optax`: DP²-RMSProp for JAX (extra ``jax``);
* `torch`: DP²-RMSProp for PyTorch, inside Opacus (extra ``torch``).

None of these packages is needed by anything else here. `make integrations` tests all of it against
the real packages in an environment of their own.
"""
