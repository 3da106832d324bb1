"""Files, compressed or not, and their lines; written whole or not at all, and never over inputs."""
