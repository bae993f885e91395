"""What goes over the wire: frames, messages and the two dialects."""
