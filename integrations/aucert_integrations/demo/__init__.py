"""``aucert demo``: an invented flower company's support chain, verified before your eyes."""
