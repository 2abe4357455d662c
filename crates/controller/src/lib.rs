//! Conducts a run: target, loops, merged seconds, the record, the verdict.
