"""The detect job: what the live rows mean, given what is known of earlier runs, as findings."""
