"""The contract of all components: messages, topics, settings, and what is generated from them."""
