"""Parts of networks that know no game: layers as training runs them, and as play does."""
