//! Runs one slice of a plan: arrivals, session machine, timers, connections, two drivers.
