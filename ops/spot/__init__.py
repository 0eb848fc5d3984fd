"""The spot market of some instance types: prices by zone, their history, scores, and how often to save."""
