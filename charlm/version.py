"""charlm's version; what builds the package reads this file, too."""

__version__ = "0.1.0"
