//! Queries the system's name servers, over UDP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use machine::clock::{Dilation, monotonic_ns};

use super::question::{self, Answer, AskError, Family};

/// The file in which the system names its name servers.
const SERVERS: &str = "/etc/resolv.conf";
/// The file of names that need no server.
const HOSTS: &str = "/etc/hosts";
const PORT: u16 = 53;
/// Most name servers that are queried (resolv.conf(5)).
const SERVERS_MAX: usize = 3;
/// Most domains in which a name is looked for.
const DOMAINS_MAX: usize = 6;
/// The longest wait for a name server.
const WAIT: Duration = Duration::from_secs(1);
/// The number of times that all of them are queried before none is said to answer.
const ROUNDS: u32 = 2;
/// The longest reply without extensions is 512 bytes; servers may send more.
const REPLY_BYTES: usize = 4096;

/// The contents of the system's files on names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct System {
    servers: Vec<IpAddr>,
    /// Domains in which short names are looked for.
    domains: Vec<String>,
    /// A name with fewer dots is looked for in the domains first.
    dots: usize,
    /// Names that the system knows without asking.
    hosts: Vec<String>,
}

impl System {
    /// Reads the files of this machine; those that cannot be read count as empty.
    pub fn read() -> System {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        System::parse(&read(SERVERS), &read(HOSTS))
    }

    pub(super) fn parse(servers: &str, hosts: &str) -> System {
        let mut system = System { dots: 1, ..System::default() };
        for line in servers.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") => system
                    .servers
                    .extend(words.next().and_then(|word| word.parse().ok()).as_slice()),
                Some("domain" | "search") => {
                    system.domains = words.map(str::to_owned).take(DOMAINS_MAX).collect();
                }
                Some("options") => {
                    let mut counts = words.filter_map(|word| word.strip_prefix("ndots:"));
                    let dots = counts.next().and_then(|word| word.parse().ok());
                    system.dots = dots.unwrap_or(system.dots);
                }
                _ => {}
            }
        }
        system.servers.truncate(SERVERS_MAX);
        let lines = hosts.lines().map(|line| line.split('#').next().unwrap_or_default());
        let names = lines.flat_map(|line| line.split_ascii_whitespace().skip(1));
        system.hosts = names.map(str::to_ascii_lowercase).collect();
        system
    }

    /// True if name servers are queried for a name. They are not for addresses, `localhost` and names in `/etc/hosts`.
    pub(crate) fn is_served(&self, name: &str) -> bool {
        let plain = name.trim_end_matches('.').to_ascii_lowercase();
        let is_address = plain.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_local = plain == "localhost" || plain.ends_with(".localhost");
        !is_address && !is_local && !self.hosts.contains(&plain) && !self.servers.is_empty()
    }

    /// The whole names that a name may be short for, the likeliest first.
    pub(crate) fn whole_names(&self, name: &str) -> Vec<String> {
        if let Some(whole) = name.strip_suffix('.') {
            return vec![whole.to_owned()];
        }
        let mut names: Vec<String> = self
            .domains
            .iter()
            .map(|domain| format!("{name}.{}", domain.trim_matches('.')))
            .collect();
        match name.matches('.').count() >= self.dots {
            true => names.insert(0, name.to_owned()),
            false => names.push(name.to_owned()),
        }
        names
    }
}

/// A resolver of whole names.
pub trait Ask: Send {
    /// The addresses of a whole name.
    fn ask(&mut self, name: &str, family: Family) -> Result<Answer, AskError>;
}

/// Queries over sockets of one network.
#[derive(Debug)]
pub struct Client {
    servers: Vec<UdpSocket>,
    wait: Duration,
}

impl Client {
    /// A client in the network that the calling thread is in. Servers that cannot be reached are left out.
    pub fn open(system: &System) -> Client {
        let servers =
            system.servers.iter().filter_map(|server| connect(SocketAddr::new(*server, PORT)).ok());
        Client { servers: servers.collect(), wait: WAIT }
    }
}

impl Ask for Client {
    fn ask(&mut self, name: &str, family: Family) -> Result<Answer, AskError> {
        for _ in 0..ROUNDS {
            for server in &self.servers {
                if let Ok(answer) = ask(server, name, family, self.wait) {
                    return answer;
                }
            }
        }
        Err(AskError::Silent)
    }
}

/// A socket that only this server's replies come to.
fn connect(server: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    Ok(socket)
}

/// Queries one server; the outer error: it does not answer.
fn ask(
    server: &UdpSocket,
    name: &str,
    family: Family,
    wait: Duration,
) -> io::Result<Result<Answer, AskError>> {
    let id = u16::from_str_radix(&machine::secret(2)?, 16).unwrap_or_default();
    let Some(query) = question::query(id, name, family) else {
        return Ok(Err(AskError::NoName));
    };
    server.send(&query)?;
    let until_ns = monotonic_ns() + wait.as_nanos() as u64;
    let mut buffer = [0; REPLY_BYTES];
    loop {
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = Dilation::of_process().stretch(Duration::from_nanos(left_ns));
        server.set_read_timeout(Some(left))?;
        let length = server.recv(&mut buffer)?;
        if let Some(answer) = question::read(&buffer[..length], id, name, family) {
            return Ok(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::testing::reply;

    const SERVERS: &str = "# by hand\nnameserver 10.0.0.53\nnameserver fe80::1\nsearch shop.test test\n\
                           options timeout:2 ndots:2\nnameserver nonsense\n";
    const HOSTS: &str = "127.0.0.1 localhost\n10.0.0.9  db Store.test # not: backup\n";

    #[test]
    fn the_systems_files_are_read() {
        let system = System::parse(SERVERS, HOSTS);
        assert_eq!(system.servers.len(), 2);
        for (name, queried) in [
            ("api.test", true),
            ("backup", true),
            ("store.TEST", false),
            ("db.", false),
            ("localhost", false),
            ("web.localhost", false),
            ("10.0.0.1", false),
            ("[::1]", false),
        ] {
            assert_eq!(system.is_served(name), queried, "{name}");
        }
        assert!(!System::parse("", "").is_served("api.test"), "no server to query");
        assert_eq!(system.whole_names("api"), ["api.shop.test", "api.test", "api"]);
        assert_eq!(system.whole_names("a.b.c")[0], "a.b.c");
        assert_eq!(system.whole_names("api."), ["api"]);
    }

    fn client_of(server: SocketAddr, wait: Duration) -> Client {
        Client { servers: vec![connect(server).unwrap()], wait }
    }

    /// A server that answers with bytes of its own first, and what was queried.
    fn server(first: Option<Vec<u8>>) -> SocketAddr {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 512];
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            if let Some(first) = first {
                socket.send_to(&first, from).unwrap();
            }
            let reply = reply(&buffer[..length], &[[10, 0, 0, 1]], 5);
            socket.send_to(&reply, from).unwrap();
        });
        address
    }

    #[test]
    fn a_server_is_queried_and_strange_replies_are_skipped() {
        for first in [None, Some(vec![0; 40])] {
            let mut client = client_of(server(first), Duration::from_secs(60));
            let answer = client.ask("api.test", Family::V4).unwrap();
            assert_eq!(answer.addresses, [IpAddr::from([10, 0, 0, 1])]);
            assert_eq!(answer.ttl_s, 5);
        }
    }

    #[test]
    fn a_server_that_does_not_answer_is_given_up() {
        let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = client_of(silent.local_addr().unwrap(), Duration::from_millis(20));
        assert_eq!(client.ask("api.test", Family::V4), Err(AskError::Silent));
        let mut buffer = [0; 512];
        assert!(silent.recv(&mut buffer).is_ok() && silent.recv(&mut buffer).is_ok(), "twice");
    }
}
