"""The external actuator: ends hung and zombie applications by their cluster manager, on signed signals."""
