//! The command line: one file a verb, arguments → library call → rendering → exit code.

fn main() {}
