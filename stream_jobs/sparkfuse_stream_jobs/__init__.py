"""The two PyFlink jobs: windows and detect."""
