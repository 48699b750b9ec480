"""Long work in pieces: ordered once, done by any number of processes, on this machine or on a Ray cluster."""
