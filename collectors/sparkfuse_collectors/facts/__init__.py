"""From the events of a log to facts: the same ids and the same content as the plugin makes of what it sees live."""
