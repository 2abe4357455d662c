use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::*;

#[test]
fn a_complaint_comes_with_the_line_that_it_is_about() {
    let ended = |said: &str| Output {
        status: ExitStatus::from_raw(256),
        stdout: Vec::new(),
        stderr: said.as_bytes().to_vec(),
    };
    let lines = "link set dev lo up\nlink add name a type veth\n";
    let file_exists = "RTNETLINK answers: File exists\nCommand failed -:2\n";
    assert_eq!(
        said(&ended(file_exists), lines),
        "RTNETLINK answers: File exists (`link add name a type veth`)"
    );
    assert_eq!(said(&ended("no\nCommand failed -:9\n"), lines), "no");
    let long = "x".repeat(10 * SAID_MAX);
    assert_eq!(said(&ended(&long), lines).len(), SAID_MAX);
}
