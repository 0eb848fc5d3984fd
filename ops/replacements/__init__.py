"""Which changes of a resource make AWS replace it: dated facts, and the conditions under which they hold."""
