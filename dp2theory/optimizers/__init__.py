"""Reference optimizers, private and not, whose runs return the event they executed.

Modules are imported one by one (``dp2theory.optimizers.protocol.run`` is the usual entry).
"""
