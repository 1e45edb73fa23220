"""The contract between all parts: messages, topics, settings, and what is made from them; imports nothing of ours."""
