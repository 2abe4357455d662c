//! What needs the repository's files.

mod corpus;
