"""Rényi differential privacy: moments by quadrature, composition, conversion."""
