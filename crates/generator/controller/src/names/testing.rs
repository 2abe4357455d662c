//! A name server's side, for tests.

use std::net::Ipv4Addr;

use simple_dns::rdata::{A, CNAME, RData};
use simple_dns::{CLASS, Name, Packet, RCODE, ResourceRecord};

/// The reply of a server that knows these addresses under another name.
pub(super) fn reply(query: &[u8], addresses: &[[u8; 4]], ttl_s: u32) -> Vec<u8> {
    let query = Packet::parse(query).unwrap();
    let mut reply = Packet::new_reply(query.id());
    let question = query.questions[0].clone();
    let other = Name::new("other.test").unwrap();
    let record =
        |name: &Name<'static>, data| ResourceRecord::new(name.clone(), CLASS::IN, ttl_s, data);
    let alias = RData::CNAME(CNAME(other.clone()));
    let name = question.qname.clone().into_owned();
    reply.answers.push(ResourceRecord::new(name, CLASS::IN, 3_600, alias));
    for address in addresses {
        let address = u32::from(Ipv4Addr::from(*address));
        reply.answers.push(record(&other, RData::A(A { address })));
    }
    if addresses.is_empty() {
        reply.answers.clear();
        *reply.rcode_mut() = RCODE::NameError;
    }
    reply.questions.push(question);
    reply.build_bytes_vec_compressed().unwrap()
}
