//! Fuzzing the files of published results.

pub(crate) use thesis::fuzzing::publications;
