"""The external actuator: on a signed signal, it ends a hung or zombie application through its cluster manager."""
