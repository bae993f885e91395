"""The page's modules, run by Node on the least of a browser."""
