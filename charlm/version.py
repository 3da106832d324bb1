"""charlm's version; the package build reads this file as well."""

__version__ = "0.2.0"
