"""Many independent pieces of work, on this machine's processes or on a cluster that runs Ray."""
