"""What all commands and functions share: options, checks of arguments, how results are told."""
