//! The fuzzers' bodies on their kept corpus.

mod corpus;
