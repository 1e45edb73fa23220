"""The contract between all parts: messages, topics, settings, and what is generated from them. Imports nothing of ours."""
