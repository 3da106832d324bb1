"""charlm's version; what builds the package reads this file, too."""

__version__ = "0.2.0"
