"""The demonstration: real Spark jobs that go wrong, watched, paged about and stopped."""
