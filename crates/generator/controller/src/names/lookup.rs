//! The names of one network: what was answered, and when it is queried again.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use driver::addresses::AddressBook;
use engine::addresses::{Answers, NOWHERE};
use plan::Endpoint;
use record::schema::EventKind;

use super::client::{Ask, System};
use super::question::{AskError, Family};

/// An answer is kept at least this long, even if it says that it may not be kept.
const KEPT_NS_MIN: u64 = 1_000_000_000;
/// A name without an answer is queried again after this time.
const RETRY_NS: u64 = 2_000_000_000;
/// Changes of one name are events at most this often.
const REPORTED_NS: u64 = 5_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// The names of one network.
pub struct Lookup {
    /// The region whose users connect from there; empty: all users do.
    region: String,
    names: Vec<Name>,
    /// The index of the name of each endpoint, and its port.
    endpoints: Vec<(usize, u16)>,
    book: Arc<AddressBook>,
    client: Box<dyn Ask>,
}

/// The resolvers that keep answers, as those of users would, and the time at which they begin.
#[derive(Debug, Clone, Copy)]
pub struct Resolvers {
    pub count: u32,
    /// The time on the monotonic clock.
    pub now_ns: u64,
}

struct Name {
    written: String,
    /// The whole name that is queried; `None`: no server knows it, and its address does not change.
    queried: Option<(String, Family)>,
    /// The answer of each resolver.
    kept: Vec<KeptAnswer>,
    failures: u64,
    failure: Option<AskError>,
    /// True if the addresses have changed since their last event.
    is_changed: bool,
    /// The time of that event.
    reported_ns: u64,
}

/// The answer that a resolver keeps.
struct KeptAnswer {
    addresses: Vec<IpAddr>,
    until_ns: u64,
}

impl Lookup {
    /// Looks for the addresses of all endpoints. `first` are their first addresses as the system resolves them, which hold
    /// for names that no server knows; or [`NOWHERE`]: none is needed.
    pub fn begin(
        endpoints: &[Endpoint],
        first: &[SocketAddr],
        system: &System,
        resolvers: Resolvers,
        mut client: Box<dyn Ask>,
    ) -> Lookup {
        let mut names: Vec<Name> = Vec::new();
        let mut places = Vec::new();
        for (endpoint, first) in endpoints.iter().zip(first) {
            let host = match *first == NOWHERE {
                true => "",
                false => endpoint.host.as_str(),
            };
            let known = names.iter().position(|name| name.written == host);
            let place = known.unwrap_or_else(|| {
                let name = Name::begin(host, first.ip(), system, &mut *client);
                names.push(name);
                names.len() - 1
            });
            places.push((place, first.port()));
        }
        for name in &mut names {
            name.ask_for_others(resolvers, &mut *client);
        }
        Lookup {
            region: String::new(),
            book: Arc::new(AddressBook::new(answers(&names, &places))),
            names,
            endpoints: places,
            client,
        }
    }

    /// Sets the region that events name.
    pub fn of_region(mut self, region: String) -> Lookup {
        self.region = region;
        self
    }

    /// The addresses, as the loops read them.
    pub fn book(&self) -> &Arc<AddressBook> {
        &self.book
    }

    /// The time at which the next turn is due; `None`: nothing changes any more.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let queried = self.names.iter().filter(|name| name.queried.is_some());
        let times = queried.flat_map(|name| {
            let report = name.is_changed.then_some(name.reported_ns + REPORTED_NS);
            name.kept.iter().map(|kept| kept.until_ns).chain(report)
        });
        times.min()
    }

    /// Queries for what is due, gives changed addresses to the loops, and returns what happened.
    pub(super) fn turn(&mut self, now_ns: u64) -> Vec<EventKind> {
        let mut events = Vec::new();
        let mut changed = false;
        for name in &mut self.names {
            changed |= name.ask_again(now_ns, &mut *self.client, &self.region, &mut events);
            if name.is_changed && now_ns >= name.reported_ns.saturating_add(REPORTED_NS) {
                name.is_changed = false;
                name.reported_ns = now_ns;
                events.push(name.changed(&self.region));
            }
        }
        if changed {
            self.book.replace(answers(&self.names, &self.endpoints));
        }
        events
    }

    /// The events that remain at the end.
    pub(super) fn end(&mut self) -> Vec<EventKind> {
        let mut events = Vec::new();
        for name in &mut self.names {
            if std::mem::take(&mut name.is_changed) {
                events.push(name.changed(&self.region));
            }
            if let Some(why) = name.failure.as_ref().filter(|_| name.failures > 1) {
                let times = units::counted(name.failures, "time");
                let called = called(&name.written, &self.region);
                let text = format!("{called} could not be resolved again, {times} in all: {why}");
                events.push(EventKind::Note { text });
            }
        }
        events
    }
}

impl Name {
    /// A name with its first answer.
    fn begin(written: &str, first: IpAddr, system: &System, client: &mut dyn Ask) -> Name {
        let family = Family::of(first);
        let mut found = None;
        if !written.is_empty() && system.is_served(written) {
            let names = system.whole_names(written).into_iter();
            found = names.filter_map(|name| Some((client.ask(&name, family).ok()?, name))).next();
        }
        let (addresses, ttl_s, queried) = match found {
            Some((answer, name)) => (answer.addresses, answer.ttl_s, Some((name, family))),
            None => (vec![first], 0, None),
        };
        Name {
            written: written.to_owned(),
            queried,
            kept: vec![KeptAnswer { addresses, until_ns: kept_ns(ttl_s) }],
            failures: 0,
            failure: None,
            is_changed: false,
            reported_ns: 0,
        }
    }

    /// The other resolvers ask, too. They did so at different times in the past, so that their answers run out one after
    /// the other; until now the times are those since then.
    fn ask_for_others(&mut self, resolvers: Resolvers, client: &mut dyn Ask) {
        if let Some((name, family)) = &self.queried {
            for _ in 1..resolvers.count {
                let kept = match client.ask(name, *family) {
                    Ok(answer) => {
                        KeptAnswer { until_ns: kept_ns(answer.ttl_s), addresses: answer.addresses }
                    }
                    Err(_) => {
                        KeptAnswer { addresses: self.kept[0].addresses.clone(), until_ns: RETRY_NS }
                    }
                };
                self.kept.push(kept);
            }
        }
        let count = self.kept.len() as u64;
        for (number, kept) in self.kept.iter_mut().enumerate() {
            kept.until_ns = resolvers.now_ns + kept.until_ns * (number as u64 + 1) / count;
        }
    }

    /// Queries for resolvers whose time is over; true if an address changed.
    fn ask_again(
        &mut self,
        now_ns: u64,
        client: &mut dyn Ask,
        region: &str,
        events: &mut Vec<EventKind>,
    ) -> bool {
        let Some((queried, family)) = &self.queried else {
            return false;
        };
        let mut changed = false;
        for kept in self.kept.iter_mut().filter(|kept| kept.until_ns <= now_ns) {
            match client.ask(queried, *family) {
                Ok(answer) => {
                    kept.until_ns = now_ns + kept_ns(answer.ttl_s);
                    changed |= kept.addresses != answer.addresses;
                    kept.addresses = answer.addresses;
                }
                Err(why) => {
                    kept.until_ns = now_ns + RETRY_NS;
                    self.failures += 1;
                    // The first failure of a name is an event; the others are counted.
                    if self.failures == 1 {
                        let called = called(&self.written, region);
                        let text = format!(
                            "{called} could not be resolved again: {why}; its addresses stay"
                        );
                        events.push(EventKind::Note { text });
                    }
                    self.failure = Some(why);
                }
            }
        }
        self.is_changed |= changed;
        changed
    }

    fn changed(&self, region: &str) -> EventKind {
        let mut addresses = BTreeMap::new();
        for kept in &self.kept {
            for address in &kept.addresses {
                *addresses.entry(address.to_string()).or_insert(0) += 1;
            }
        }
        EventKind::AddressesChanged {
            name: self.written.clone(),
            region: region.to_owned(),
            addresses,
            resolvers: self.kept.len() as u32,
        }
    }
}

fn kept_ns(ttl_s: u32) -> u64 {
    (u64::from(ttl_s) * SECOND_NS).max(KEPT_NS_MIN)
}

fn called(name: &str, region: &str) -> String {
    match region {
        "" => name.to_owned(),
        region => format!("{name} from {region}"),
    }
}

/// The addresses by endpoint and resolver.
fn answers(names: &[Name], endpoints: &[(usize, u16)]) -> Answers {
    let of_endpoint = |(name, port): &(usize, u16)| {
        let kept = names[*name].kept.iter();
        kept.map(|kept| {
            let addresses = kept.addresses.iter();
            addresses.map(|address| SocketAddr::new(*address, *port)).collect()
        })
        .collect()
    };
    endpoints.iter().map(of_endpoint).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::names::question::Answer;

    const S: u64 = SECOND_NS;

    #[derive(Default)]
    struct ServerState {
        answers: BTreeMap<String, Vec<[u8; 4]>>,
        questions: usize,
    }

    /// A name server whose answers a test sets, and which counts its queries.
    #[derive(Clone, Default)]
    struct Server {
        state: Arc<Mutex<ServerState>>,
    }

    impl Server {
        fn set(&self, name: &str, addresses: &[[u8; 4]]) {
            let mut state = self.state.lock().unwrap();
            state.answers.insert(name.to_owned(), addresses.to_vec());
        }

        fn remove(&self, name: &str) {
            self.state.lock().unwrap().answers.remove(name);
        }

        /// The number of queries since the last call.
        fn queried(&self) -> usize {
            std::mem::take(&mut self.state.lock().unwrap().questions)
        }
    }

    impl Ask for Server {
        fn ask(&mut self, name: &str, _: Family) -> Result<Answer, AskError> {
            let mut state = self.state.lock().unwrap();
            state.questions += 1;
            let found = state.answers.get(name).ok_or(AskError::Silent)?;
            let addresses = found.iter().map(|address| IpAddr::from(*address));
            Ok(Answer { addresses: addresses.collect(), ttl_s: 10 })
        }
    }

    fn endpoint(host: &str, port: u16) -> Endpoint {
        Endpoint {
            host: host.to_owned(),
            port,
            tls: false,
            base_path: String::new(),
            via: plan::Via::Tcp,
        }
    }

    /// The name `api.test`, at two ports, and an address.
    fn begin(server: &Server, resolvers_count: u32) -> Lookup {
        let endpoints =
            [endpoint("api.test", 80), endpoint("api.test", 443), endpoint("10.9.9.9", 80)];
        let first = ["10.0.0.1:80", "10.0.0.1:443", "10.9.9.9:80"].map(|a| a.parse().unwrap());
        let system = System::parse("nameserver 10.0.0.53\n", "");
        let client = Box::new(server.clone());
        let resolvers = Resolvers { count: resolvers_count, now_ns: 0 };
        Lookup::begin(&endpoints, &first, &system, resolvers, client).of_region("north".to_owned())
    }

    fn ips(lookup: &Lookup) -> Vec<String> {
        let newest = lookup.book().newest();
        let all = newest.iter().flatten().flatten();
        all.map(ToString::to_string).collect()
    }

    #[test]
    fn names_are_queried_again_when_their_time_is_over() {
        let server = Server::default();
        server.set("api.test", &[[10, 0, 0, 1]]);
        let mut lookup = begin(&server, 1);
        assert_eq!(server.queried(), 1, "once for both ports, never for an address");
        assert_eq!(ips(&lookup), ["10.0.0.1:80", "10.0.0.1:443", "10.9.9.9:80"]);
        assert_eq!(lookup.due_ns(), Some(10 * S));
        assert_eq!(lookup.turn(9 * S), []);
        assert_eq!(server.queried(), 0);
        assert_eq!(lookup.turn(10 * S), []);
        assert_eq!(server.queried(), 1);
        assert_eq!(lookup.book().version(), 0, "the same as before");
        server.set("api.test", &[[10, 0, 0, 2]]);
        let events = lookup.turn(20 * S);
        let changed = EventKind::AddressesChanged {
            name: "api.test".to_owned(),
            region: "north".to_owned(),
            addresses: [("10.0.0.2".to_owned(), 1)].into(),
            resolvers: 1,
        };
        assert_eq!(events, [changed]);
        assert_eq!(ips(&lookup), ["10.0.0.2:80", "10.0.0.2:443", "10.9.9.9:80"]);
        assert_eq!(lookup.end(), []);
    }

    #[test]
    fn without_an_answer_the_addresses_stay_and_the_failures_are_counted() {
        let server = Server::default();
        server.set("api.test", &[[10, 0, 0, 1]]);
        let mut lookup = begin(&server, 1);
        server.remove("api.test");
        let events = lookup.turn(10 * S);
        let text = "api.test from north could not be resolved again: no name server answers; its addresses stay";
        let note = |text: &str| EventKind::Note { text: text.to_owned() };
        assert_eq!(events, [note(text)]);
        assert_eq!(lookup.due_ns(), Some(12 * S));
        assert_eq!(lookup.turn(12 * S), []);
        assert_eq!(ips(&lookup)[0], "10.0.0.1:80");
        server.set("api.test", &[[10, 0, 0, 3]]);
        assert_eq!(lookup.turn(14 * S).len(), 1);
        assert_eq!(ips(&lookup)[0], "10.0.0.3:80");
        let text = "api.test from north could not be resolved again, 2 times in all: no name server answers";
        assert_eq!(lookup.end(), [note(text)]);
    }

    #[test]
    fn resolvers_learn_of_a_change_one_after_the_other_and_events_are_few() {
        let server = Server::default();
        server.set("api.test", &[[10, 0, 0, 1]]);
        let mut lookup = begin(&server, 20);
        assert_eq!(server.queried(), 20);
        server.set("api.test", &[[10, 0, 0, 2]]);
        let mut events = Vec::new();
        let mut learned = Vec::new();
        let mut now_ns = 0;
        while let Some(due_ns) = lookup.due_ns().filter(|due_ns| *due_ns <= 11 * S) {
            now_ns = due_ns.max(now_ns);
            events.extend(lookup.turn(now_ns));
            let new = ips(&lookup);
            learned.push(new.iter().filter(|a| *a == "10.0.0.2:80").count());
        }
        assert_eq!(server.queried(), 20 + 2, "each once within its time, the first two twice");
        assert!(learned.is_sorted(), "{learned:?}");
        assert_eq!(learned.first(), Some(&1));
        assert_eq!(learned.last(), Some(&20));
        assert!((2..=4).contains(&events.len()), "{}", events.len());
    }

    #[test]
    fn a_name_that_no_server_knows_is_not_queried_again() {
        let server = Server::default();
        let mut lookup = begin(&server, 5);
        assert_eq!(server.queried(), 1);
        assert_eq!(ips(&lookup), ["10.0.0.1:80", "10.0.0.1:443", "10.9.9.9:80"]);
        assert_eq!(lookup.due_ns(), None);
        assert_eq!(lookup.turn(100 * S), []);
        assert_eq!(server.queried(), 0);
    }

    #[test]
    fn what_needs_no_address_is_not_queried() {
        let server = Server::default();
        let endpoints = [endpoint("private.test", 80), endpoint("other.test", 80)];
        let system = System::parse("nameserver 10.0.0.53\n", "");
        let client = Box::new(server.clone());
        let resolvers = Resolvers { count: 3, now_ns: 0 };
        let lookup = Lookup::begin(&endpoints, &[NOWHERE; 2], &system, resolvers, client);
        assert_eq!(server.queried(), 0);
        assert_eq!(lookup.book().all_first().count(), 0);
        assert_eq!(lookup.due_ns(), None);
    }
}
