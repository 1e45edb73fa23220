"""The contract of all components: messages, topics, settings, and the files that are generated from them."""
