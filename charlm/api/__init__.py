"""What Python users hold: the objects that `charlm.load` gives."""
