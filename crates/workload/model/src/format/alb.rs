//! Access logs of AWS application load balancers (Elastic Load Balancing user guide, "Access logs for
//! your Application Load Balancer").

use super::Columns;
use crate::entry::Meaning::{self, AddressPort, Agent, Nothing, Other, Request, Status, Time};

const KINDS: &[&[u8]] = &[b"http ", b"https ", b"h2 ", b"grpcs ", b"ws ", b"wss "];

/// Whether a line begins with the kind of a connection and a year.
pub(super) fn looks(line: &[u8]) -> bool {
    KINDS.iter().any(|kind| {
        let rest = line.strip_prefix(*kind).unwrap_or_default();
        rest.len() > 5 && rest[..4].iter().all(u8::is_ascii_digit) && rest[4] == b'-'
    })
}

/// Up to the agent; what is behind it differs from version to version.
pub(super) fn columns() -> Columns {
    let mut meanings: Vec<Meaning> = vec![Nothing, Time, Other("elb".to_owned()), AddressPort];
    // The target's address, and three times it took.
    meanings.extend([Nothing, Nothing, Nothing, Nothing]);
    // Of its two statuses that of the balancer is what the user got; bytes in and out.
    meanings.extend([Status, Nothing, Nothing, Nothing, Request, Agent]);
    Columns {
        name: "AWS ALB access log",
        meanings,
        separator: b' ',
        remark: None,
        header: None,
        more: true,
        utc: true,
    }
}
