"""What is handed out: the distributions, and what they need."""
