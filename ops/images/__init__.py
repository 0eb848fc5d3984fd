"""Machine images: which a stack uses, which are the newest, and how long they are supported."""
