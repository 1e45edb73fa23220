"""The web console: pages about findings, runs, jobs and hosts, rendered on the server from the query core."""
