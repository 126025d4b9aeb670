"""Fresh Jupyter kernels with limits and typed outcomes."""
