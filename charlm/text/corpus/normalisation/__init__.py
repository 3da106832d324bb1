"""How a text is read: case, Unicode, words, marks; what is odd about them."""
