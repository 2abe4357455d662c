//! A query for the addresses of a name, and its reply, as bytes (RFC 1035).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, TYPE};

/// Most addresses that are taken of a reply.
const ADDRESSES_MAX: usize = 64;

/// The version of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    pub(crate) fn of(address: IpAddr) -> Family {
        match address {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    fn kind(self) -> TYPE {
        match self {
            Family::V4 => TYPE::A,
            Family::V6 => TYPE::AAAA,
        }
    }
}

/// The addresses of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// In ascending order, each once; at least one. Servers give them in a different order each time.
    pub addresses: Vec<IpAddr>,
    /// The time for which it may be kept.
    pub ttl_s: u32,
}

/// Why a name has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("there is no such name")]
    NoName,
    #[error("it has no address")]
    NoAddress,
    #[error("the name server refuses: {0}")]
    Refused(String),
    #[error("no name server answers")]
    Silent,
}

/// The bytes of a query; `None`: this cannot be a name.
pub(crate) fn query(id: u16, name: &str, family: Family) -> Option<Vec<u8>> {
    let mut query = Packet::new_query(id);
    query.set_flags(PacketFlag::RECURSION_DESIRED);
    let kind = QTYPE::TYPE(family.kind());
    let question = Question::new(Name::new(name).ok()?, kind, QCLASS::CLASS(CLASS::IN), false);
    query.questions.push(question);
    query.build_bytes_vec().ok()
}

/// The answer of a reply; `None`: these bytes are no reply to the query.
pub(crate) fn read(
    bytes: &[u8],
    id: u16,
    name: &str,
    family: Family,
) -> Option<Result<Answer, AskError>> {
    let reply = Packet::parse(bytes).ok()?;
    let question = reply.questions.first()?;
    let is_ours = reply.id() == id
        && reply.has_flags(PacketFlag::RESPONSE)
        && question.qtype == QTYPE::TYPE(family.kind())
        && question.qname.to_string().eq_ignore_ascii_case(name);
    if !is_ours {
        return None;
    }
    Some(match reply.rcode() {
        RCODE::NoError => answer(&reply, family),
        RCODE::NameError => Err(AskError::NoName),
        code => Err(AskError::Refused(format!("{code:?}"))),
    })
}

/// The addresses at the end of a chain of names, and the shortest time that any part of it may be kept.
fn answer(reply: &Packet<'_>, family: Family) -> Result<Answer, AskError> {
    let mut addresses = Vec::new();
    let mut ttl_s = u32::MAX;
    for record in &reply.answers {
        match (&record.rdata, family) {
            (RData::A(a), Family::V4) => addresses.push(IpAddr::V4(Ipv4Addr::from(a.address))),
            (RData::AAAA(a), Family::V6) => addresses.push(IpAddr::V6(Ipv6Addr::from(a.address))),
            (RData::CNAME(_), _) => {}
            _ => continue,
        }
        ttl_s = ttl_s.min(record.ttl);
    }
    addresses.sort_unstable();
    addresses.dedup();
    addresses.truncate(ADDRESSES_MAX);
    match addresses.is_empty() {
        true => Err(AskError::NoAddress),
        false => Ok(Answer { addresses, ttl_s }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::names::testing::reply;

    #[test]
    fn a_reply_has_addresses_in_order_and_the_shortest_time() {
        let query = query(9, "api.test", Family::V4).unwrap();
        let bytes = reply(&query, &[[10, 0, 0, 2], [10, 0, 0, 1], [10, 0, 0, 2]], 30);
        let read = read(&bytes, 9, "API.test", Family::V4).unwrap().unwrap();
        let expected = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        assert_eq!((read.addresses.as_slice(), read.ttl_s), (&expected[..], 30));
    }

    #[test]
    fn a_name_that_is_not_there_has_no_addresses() {
        let query = query(9, "api.test", Family::V4).unwrap();
        let bytes = reply(&query, &[], 30);
        assert_eq!(read(&bytes, 9, "api.test", Family::V4), Some(Err(AskError::NoName)));
    }

    #[test]
    fn what_is_no_reply_to_the_query_is_not_read() {
        let query = query(9, "api.test", Family::V4).unwrap();
        let bytes = reply(&query, &[[10, 0, 0, 1]], 30);
        assert!(read(&bytes, 9, "api.test", Family::V4).is_some());
        for (id, name, family) in
            [(8, "api.test", Family::V4), (9, "web.test", Family::V4), (9, "api.test", Family::V6)]
        {
            assert_eq!(read(&bytes, id, name, family), None);
        }
        assert_eq!(read(&query, 9, "api.test", Family::V4), None, "a query");
        assert_eq!(super::query(9, &"x".repeat(300), Family::V4), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = read(&bytes, 9, "api.test", Family::V4);
        }

        #[test]
        fn no_damaged_reply_panics(place in 0_usize..80, byte in any::<u8>()) {
            let query = query(9, "api.test", Family::V4).unwrap();
            let mut bytes = reply(&query, &[[10, 0, 0, 1]], 30);
            let place = place % bytes.len();
            bytes[place] = byte;
            let _ = read(&bytes, 9, "api.test", Family::V4);
        }
    }
}
