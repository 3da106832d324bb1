"""What every command runs in: its options, errors, signals, wrong names."""
