"""What the networks of climbing games see: rows of bytes, written by kernels."""
