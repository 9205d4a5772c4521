"""Tools that come with refold."""
