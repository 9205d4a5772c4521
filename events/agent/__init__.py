"""The agent as a behaviour: messages, facts, state, and the loop as a table of phases."""
