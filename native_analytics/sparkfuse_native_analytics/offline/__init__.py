"""An application offline: what its event log says, as the rows that rules read, judged by the rules of the catalog."""
