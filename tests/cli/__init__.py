"""The command line, as its users meet it: real processes, pipes, terminals and signals."""
