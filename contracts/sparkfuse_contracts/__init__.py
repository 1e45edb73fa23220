"""What all components share: messages, topics, settings, and the files that are generated from them."""
