//! Tests of the crate from outside.

mod meeting;
mod schedule;
