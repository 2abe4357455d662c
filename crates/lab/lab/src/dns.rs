//! The lab's name server (RFC 1035): on each host at the same address of loopback, so that it knows the region of each
//! query.

mod delays;

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::now;
use crate::events::Events;
use crate::wan::Namespace;
use delays::{DelayedReply, Delays};
use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, PacketFlag, QTYPE, RCODE, ResourceRecord, TYPE};

/// Address of the name server on each host.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 53);
const PORT: u16 = 53;
/// All names end with it.
pub(crate) const DOMAIN: &str = ".lab";
/// Longest message over UDP without extensions (RFC 1035 §4.2.1).
const MESSAGE_BYTES: usize = 512;
/// Most addresses of an answer: as many as its message holds, with room for a long name.
const ADDRESSES_MAX: usize = 20;
/// How often a server looks whether it is to end.
const POLL: Duration = Duration::from_millis(500);
/// Most replies of all servers that wait for their decisions.
const WAITING_MAX: usize = 16 * 1024;
/// Stack of a thread.
const STACK_BYTES: usize = 256 << 10;

/// The answer to a question for a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// None: nobody may be reached.
    pub(crate) list: Vec<Ipv4Addr>,
    /// How long they may be kept, in seconds.
    pub(crate) ttl_s: u32,
    /// How long the decision takes, on the machine's clock.
    pub(crate) decision: Duration,
}

/// The addresses of a name for a region; `None`: there is no such name.
pub(crate) type Resolve = dyn Fn(&str, usize) -> Option<Addresses> + Send + Sync;

/// The name servers of all hosts. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct NameServers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    delays: Arc<Delays>,
    /// Sends the replies that wait.
    sender: Option<JoinHandle<()>>,
}

impl NameServers {
    /// Starts a server on each of these hosts, given with its region.
    ///
    /// # Errors
    /// A socket cannot be opened.
    pub(crate) fn start(
        hosts: &[(Arc<Namespace>, usize)],
        resolve: &Arc<Resolve>,
        events: &Arc<Events>,
    ) -> std::io::Result<NameServers> {
        let stop = Arc::new(AtomicBool::new(false));
        let delays = Arc::new(Delays::new(WAITING_MAX, Arc::clone(events)));
        let mut threads = Vec::new();
        for (namespace, region) in hosts {
            let socket = namespace.run(|| UdpSocket::bind((ADDRESS, PORT)))??;
            socket.set_read_timeout(Some(POLL))?;
            let socket = Arc::new(socket);
            let stop = Arc::clone(&stop);
            let resolve = Arc::clone(resolve);
            let delays = Arc::clone(&delays);
            let region = *region;
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            let serve = move || serve(&socket, region, &stop, &*resolve, &delays);
            threads.push(thread.spawn(serve)?);
        }
        let own = Arc::clone(&delays);
        let sender = std::thread::Builder::new().stack_size(STACK_BYTES);
        let sender = sender.spawn(move || own.send_all())?;
        Ok(NameServers { stop, threads, delays, sender: Some(sender) })
    }
}

impl Drop for NameServers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.delays.end();
        if let Some(sender) = self.sender.take() {
            let _ = sender.join();
        }
    }
}

fn serve(
    socket: &Arc<UdpSocket>,
    region: usize,
    stop: &AtomicBool,
    resolve: &Resolve,
    delays: &Delays,
) {
    let mut buffer = [0; MESSAGE_BYTES];
    while !stop.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else {
            continue;
        };
        let decision = Cell::new(Duration::ZERO);
        let resolve = |name: &str| {
            let found = resolve(name, region)?;
            decision.set(found.decision);
            Some(found)
        };
        let Some(message) = reply(&buffer[..length], &resolve) else {
            continue;
        };
        let decision = decision.get();
        if decision.is_zero() {
            send(socket, &message, from);
        } else {
            // Others are answered meanwhile.
            let reply = DelayedReply { socket: Arc::clone(socket), message, to: from };
            delays.add(now() + decision, reply);
        }
    }
}

/// Sends a reply; a client that has gone does not get it.
fn send(socket: &UdpSocket, reply: &[u8], to: SocketAddr) {
    let _ = socket.send_to(reply, to);
}

/// The reply to a message; `None`: it is no query.
fn reply(message: &[u8], resolve: &dyn Fn(&str) -> Option<Addresses>) -> Option<Vec<u8>> {
    let query = Packet::parse(message).ok()?;
    if query.has_flags(PacketFlag::RESPONSE) || query.questions.len() != 1 {
        return None;
    }
    let question = query.questions[0].clone();
    let mut reply = Packet::new_reply(query.id());
    reply.set_flags(PacketFlag::AUTHORITATIVE_ANSWER | PacketFlag::RECURSION_AVAILABLE);
    if query.has_flags(PacketFlag::RECURSION_DESIRED) {
        reply.set_flags(PacketFlag::RECURSION_DESIRED);
    }
    let name = question.qname.to_string().to_ascii_lowercase();
    // Nothing beyond the lab is reached, so no other name is there.
    let found = name.strip_suffix(DOMAIN).and_then(resolve);
    match found {
        None => *reply.rcode_mut() = RCODE::NameError,
        // There are no addresses of version 6, which is another answer than that there is no name.
        Some(Addresses { list, ttl_s, .. }) => {
            let wants_address = matches!(question.qtype, QTYPE::TYPE(TYPE::A) | QTYPE::ANY);
            for address in list.iter().take(ADDRESSES_MAX).filter(|_| wants_address) {
                let data = RData::A(A { address: u32::from(*address) });
                let record = ResourceRecord::new(question.qname.clone(), CLASS::IN, ttl_s, data);
                reply.answers.push(record);
            }
        }
    }
    reply.questions.push(question);
    reply.build_bytes_vec_compressed().ok()
}

#[cfg(test)]
mod tests {
    use simple_dns::{Name, QCLASS, Question};

    use super::*;

    fn query(name: &str, kind: TYPE) -> Vec<u8> {
        let mut query = Packet::new_query(7);
        let name = Name::new(name).unwrap();
        let kind = QTYPE::TYPE(kind);
        query.questions.push(Question::new(name, kind, QCLASS::CLASS(CLASS::IN), false));
        query.build_bytes_vec().unwrap()
    }

    fn resolve(name: &str) -> Option<Addresses> {
        let address = Ipv4Addr::new(198, 18, 0, 1);
        let found = Addresses { list: vec![address; 100], ttl_s: 5, decision: Duration::ZERO };
        (name == "api").then_some(found)
    }

    #[test]
    fn names_of_the_lab_have_addresses() {
        let bytes = reply(&query("API.lab", TYPE::A), &resolve).unwrap();
        assert!(bytes.len() <= MESSAGE_BYTES);
        let reply = Packet::parse(&bytes).unwrap();
        assert_eq!((reply.id(), reply.rcode()), (7, RCODE::NoError));
        assert_eq!(reply.answers.len(), ADDRESSES_MAX);
        let first = &reply.answers[0];
        let RData::A(a) = &first.rdata else { panic!("{first:?}") };
        assert_eq!((Ipv4Addr::from(a.address), first.ttl), (Ipv4Addr::new(198, 18, 0, 1), 5));
    }

    #[test]
    fn other_types_are_empty_and_other_names_do_not_exist() {
        for (name, kind, code) in [
            ("api.lab", TYPE::AAAA, RCODE::NoError),
            ("db.lab", TYPE::A, RCODE::NameError),
            ("example.org", TYPE::A, RCODE::NameError),
        ] {
            let bytes = reply(&query(name, kind), &resolve).unwrap();
            let reply = Packet::parse(&bytes).unwrap();
            assert_eq!((reply.rcode(), reply.answers.len()), (code, 0), "{name}");
        }
    }

    #[test]
    fn what_is_no_query_is_not_answered() {
        let answer = reply(&query("api.lab", TYPE::A), &resolve).unwrap();
        for message in [&[][..], &[0; 11], &[0xff; 600], &answer] {
            assert_eq!(reply(message, &resolve), None);
        }
    }
}
