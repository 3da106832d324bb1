"""What vectors are asked besides neighbours."""
