//! Shards on a simulated network, in virtual time.
//!
//! A [`Peer`] stands for the server, a rule for the faults of the link. Only
//! the link takes time, so every figure can be worked out on paper, and the same
//! plan gives the same run to the nanosecond.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use crate::addresses::Choice;
use crate::command::{Command, ConnId};
use crate::measure::Delta;
use crate::meeting::{Meeting, RunPart};
use crate::schedule::share::Share;
use crate::tables::budget::Budget;
use crate::trace::TraceRequest;
use crate::work::Clock;
use crate::{Setup, SetupError, Shard};
use plan::EndpointId;
use plan::Plan;
use record::schema::WorkKind;
use record::{Measurement, Outcome};

/// A connection as the peer sees it: numbered in the order they were opened.
pub type PeerConn = u64;

/// An event that a peer sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    Connected,
    Received(Vec<u8>),
    Closed,
    /// A timer of [`PeerAction::Timer`] fired.
    Timer(u64),
}

/// An action of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerAction {
    Send(Vec<u8>),
    /// Closes in good order once everything before has arrived.
    Close,
    /// Resets the connection.
    Reset,
    /// Come back at this time with this number.
    Timer {
        at_ns: u64,
        number: u64,
    },
}

/// The server at the other end.
pub trait Peer {
    /// Something happened to `conn`; the actions are for that connection.
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction>;
}

/// A packet on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    Connect,
    ToPeer,
    ToUser,
}

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It arrives after the link's latency.
    Pass,
    /// It arrives this much later than that. Later packets of the connection wait for it.
    Delay(u64),
    /// It never arrives.
    Drop,
    /// The connection is refused, or reset if it is open.
    Refuse,
    /// The generator itself is at a limit.
    Limit(Outcome),
}

/// The network between the users and the peer.
pub struct Link<'a> {
    /// One route.
    pub latency_ns: u64,
    /// Called for every packet, at the time it is sent.
    pub rule: Box<dyn FnMut(u64, Packet) -> Verdict + 'a>,
    /// Called before that for every new connection: where it goes may decide on it.
    pub way: Box<dyn FnMut(u64, EndpointId, Choice) -> Verdict + 'a>,
    /// Times in which the generator gets no CPU: from, until.
    pub frozen: Vec<(u64, u64)>,
    /// CPU time that the generator needs for one event or due item; until then it does nothing else.
    pub event_ns: u64,
    /// CPU time that own work of each kind takes, whatever it is for.
    pub work_ns: fn(WorkKind) -> u64,
    /// From then on no user starts; `u64::MAX`: never.
    pub arrivals_close_ns: u64,
    /// Then the run is stopped, as if its last phase ended; `u64::MAX`: never.
    pub stops_ns: u64,
    /// Times in which arrivals are paused: from, until.
    pub pauses: Vec<(u64, u64)>,
    /// Memory for what users save and connections buffer.
    pub buffers: Arc<Budget>,
    /// A user that is run by the first shard instead of the plan's, which then has none.
    pub trace: Option<TraceRequest>,
}

impl Link<'_> {
    /// A link without faults.
    pub fn new(latency_ns: u64) -> Link<'static> {
        Link {
            latency_ns,
            rule: Box::new(|_, _| Verdict::Pass),
            way: Box::new(|_, _, _| Verdict::Pass),
            frozen: Vec::new(),
            event_ns: 0,
            work_ns: |_| 0,
            arrivals_close_ns: u64::MAX,
            stops_ns: u64::MAX,
            pauses: Vec::new(),
            buffers: Arc::default(),
            trace: None,
        }
    }

    fn is_paused(&self, at_ns: u64) -> bool {
        let mut pauses = self.pauses.iter();
        pauses.any(|&(from, until)| (from..until).contains(&at_ns))
    }

    /// When a pause next begins or ends after this moment, or the run is stopped.
    fn turn_ns(&self, after_ns: u64) -> Option<u64> {
        let turns = self.pauses.iter().flat_map(|&(from, until)| [from, until]);
        turns.chain([self.stops_ns]).filter(|&turn| turn > after_ns).min()
    }
}

/// The results of a simulated run.
#[derive(Debug, Default)]
pub struct SimRun {
    /// In the order of user, then time.
    pub rows: Vec<Measurement>,
    pub deltas: Vec<Delta>,
    pub ended_ns: u64,
    /// CPU time that the generator used in each second.
    pub busy_ns: Vec<u64>,
}

/// Runs `plan` on `shards_count` shards to its end.
pub fn run(
    plan: &Plan,
    shards_count: u32,
    peer: &mut dyn Peer,
    link: Link<'_>,
) -> Result<SimRun, SetupError> {
    let meeting = Arc::new(Meeting::new(&plan.meetings, RunPart::all(shards_count)));
    let share = |index| Share::new(index, shards_count);
    let setup = |index| Setup {
        share: share(index),
        rows_max: 1024,
        tls: None,
        buffers: Arc::clone(&link.buffers),
        meeting: Arc::clone(&meeting),
    };
    let shards: Result<Vec<Shard<'_>>, SetupError> =
        (0..shards_count).map(|index| Shard::new(plan, &setup(index))).collect();
    let mut shards = shards?;
    let clock = VirtualClock { now_ns: Rc::default(), work_ns: link.work_ns };
    for shard in &mut shards {
        shard.time_work_with(Box::new(clock.clone()));
    }
    if let (Some(request), Some(shard)) = (&link.trace, shards.first_mut()) {
        shard.trace(request);
    }
    let network = Network {
        link,
        queue: BinaryHeap::new(),
        sequence: 0,
        conns: Vec::new(),
        busy_until_ns: 0,
        busy_ns: Vec::new(),
    };
    let mut sim = Sim {
        shards,
        network,
        peer,
        clock,
        waiting: VecDeque::new(),
        names: BTreeMap::new(),
        paused: false,
    };
    Ok(sim.run())
}

/// The time within a turn of the generator, which goes on while it works.
#[derive(Debug, Clone)]
struct VirtualClock {
    now_ns: Rc<Cell<u64>>,
    work_ns: fn(WorkKind) -> u64,
}

impl Clock for VirtualClock {
    fn now_ns(&mut self) -> u64 {
        self.now_ns.get()
    }

    fn after(&mut self, work: WorkKind) -> u64 {
        self.now_ns.set(self.now_ns.get() + (self.work_ns)(work));
        self.now_ns.get()
    }
}

/// An event in transit.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TransitEvent {
    ConnectAtPeer,
    ConnectAtUser,
    RefusedAtUser(Outcome),
    AtPeer(Vec<u8>),
    AtUser(Vec<u8>),
    ClosedAtPeer,
    ClosedAtUser,
    ResetAtUser,
    Timer(u64),
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedEvent {
    at_ns: u64,
    sequence: u64,
    conn: PeerConn,
    what: TransitEvent,
}

struct Route {
    shard: usize,
    id: ConnId,
    /// Nothing sent on the connection arrives before this: the order is kept.
    to_peer_ns: u64,
    to_user_ns: u64,
    /// The peer knows of it, and not yet of its end.
    open: bool,
}

struct Network<'a> {
    link: Link<'a>,
    queue: BinaryHeap<Reverse<QueuedEvent>>,
    sequence: u64,
    conns: Vec<Route>,
    /// The generator does what it did last until then.
    busy_until_ns: u64,
    busy_ns: Vec<u64>,
}

impl Network<'_> {
    /// The generator does one thing more, in which it works until `worked_ns`.
    fn spend(&mut self, now_ns: u64, worked_ns: u64) {
        self.busy_until_ns = self.busy_until_ns.max(worked_ns) + self.link.event_ns;
        let second = (now_ns / 1_000_000_000) as usize;
        if self.busy_ns.len() <= second {
            self.busy_ns.resize(second + 1, 0);
        }
        self.busy_ns[second] += self.link.event_ns + (worked_ns - now_ns);
    }

    fn push(&mut self, at_ns: u64, conn: PeerConn, what: TransitEvent) {
        self.sequence += 1;
        self.queue.push(Reverse(QueuedEvent { at_ns, sequence: self.sequence, conn, what }));
    }

    /// When a packet sent now arrives; `None`: never.
    fn arrival(&mut self, now_ns: u64, packet: Packet) -> Result<Option<u64>, Outcome> {
        let verdict = (self.link.rule)(now_ns, packet);
        self.arrival_by(now_ns, verdict)
    }

    fn arrival_by(&self, now_ns: u64, verdict: Verdict) -> Result<Option<u64>, Outcome> {
        let at_ns = now_ns + self.link.latency_ns;
        match verdict {
            Verdict::Pass => Ok(Some(at_ns)),
            Verdict::Delay(more_ns) => Ok(Some(at_ns + more_ns)),
            Verdict::Drop => Ok(None),
            Verdict::Refuse => Err(Outcome::Refused),
            Verdict::Limit(outcome) => Err(outcome),
        }
    }

    fn connect(&mut self, now_ns: u64, shard: usize, id: ConnId, way: Verdict) -> PeerConn {
        let conn = self.conns.len() as PeerConn;
        self.conns.push(Route { shard, id, to_peer_ns: 0, to_user_ns: 0, open: false });
        let verdict = match way {
            Verdict::Pass => (self.link.rule)(now_ns, Packet::Connect),
            other => other,
        };
        match self.arrival_by(now_ns, verdict) {
            Ok(Some(at_ns)) => self.push(at_ns, conn, TransitEvent::ConnectAtPeer),
            Ok(None) => {}
            Err(Outcome::Refused) => {
                let at_ns = now_ns + 2 * self.link.latency_ns;
                self.push(at_ns, conn, TransitEvent::RefusedAtUser(Outcome::Refused));
            }
            Err(outcome) => self.push(now_ns, conn, TransitEvent::RefusedAtUser(outcome)),
        }
        conn
    }

    fn send_to_peer(&mut self, now_ns: u64, conn: PeerConn, bytes: &[u8]) {
        match self.arrival(now_ns, Packet::ToPeer) {
            Ok(Some(at_ns)) => {
                let route = &mut self.conns[conn as usize];
                route.to_peer_ns = route.to_peer_ns.max(at_ns);
                let at_ns = route.to_peer_ns;
                self.push(at_ns, conn, TransitEvent::AtPeer(bytes.to_vec()));
            }
            Ok(None) => {}
            Err(_) => self.push(now_ns + self.link.latency_ns, conn, TransitEvent::ResetAtUser),
        }
    }

    fn send_to_user(&mut self, now_ns: u64, conn: PeerConn, what: TransitEvent) {
        match self.arrival(now_ns, Packet::ToUser) {
            Ok(Some(at_ns)) => {
                let route = &mut self.conns[conn as usize];
                route.to_user_ns = route.to_user_ns.max(at_ns);
                let at_ns = route.to_user_ns;
                self.push(at_ns, conn, what);
            }
            Ok(None) => {}
            Err(_) => self.push(now_ns + self.link.latency_ns, conn, TransitEvent::ResetAtUser),
        }
    }

    /// The earliest time at or after `at_ns` at which the generator has a CPU.
    fn thawed(&self, at_ns: u64) -> u64 {
        let at_ns = at_ns.max(self.busy_until_ns);
        let inside = self.link.frozen.iter().find(|(from, until)| (*from..*until).contains(&at_ns));
        inside.map_or(at_ns, |&(_, until)| until)
    }
}

struct Sim<'a, 'p> {
    shards: Vec<Shard<'p>>,
    network: Network<'a>,
    peer: &'a mut dyn Peer,
    clock: VirtualClock,
    /// Arrivals while the generator had no CPU, in order.
    waiting: VecDeque<QueuedEvent>,
    /// Connections by (shard, the shard's name for them).
    names: BTreeMap<(usize, ConnId), PeerConn>,
    /// Whether arrivals were paused when the shards were last notified.
    paused: bool,
}

impl Sim<'_, '_> {
    fn run(&mut self) -> SimRun {
        let mut run = SimRun::default();
        let mut now_ns = 0;
        while self.shards.iter().any(|shard| !shard.is_over()) {
            let due_ns = self.due_ns(now_ns);
            let waiting_ns = self.waiting.front().map_or(u64::MAX, |next| next.at_ns);
            let acts_ns = self.network.thawed(due_ns.min(waiting_ns).max(now_ns));
            let queue = &mut self.network.queue;
            if queue.peek().is_some_and(|Reverse(next)| next.at_ns <= acts_ns) {
                if let Some(Reverse(queued)) = queue.pop() {
                    now_ns = now_ns.max(queued.at_ns);
                    self.arrive(now_ns, queued);
                }
            } else {
                now_ns = acts_ns;
                match self.waiting.pop_front_if(|next| next.at_ns <= due_ns) {
                    Some(queued) => self.notify_user(now_ns, queued),
                    None => self.advance(now_ns),
                }
            }
            self.collect(&mut run, false);
        }
        for shard in &mut self.shards {
            shard.finish(now_ns);
        }
        self.collect(&mut run, true);
        run.rows.sort_by_key(|row| (row.user, row.due_ns, row.done_ns, row.measure));
        run.ended_ns = now_ns;
        run.busy_ns = std::mem::take(&mut self.network.busy_ns);
        run
    }

    /// When a shard has something to do, a pause begins or ends, or the run is stopped; not before `now_ns`.
    fn due_ns(&self, now_ns: u64) -> u64 {
        let running = self.shards.iter().filter(|shard| !shard.is_over());
        let due_ns = running.map(Shard::next_ns).min().unwrap_or(u64::MAX);
        due_ns.min(self.turn_ns(now_ns)).max(now_ns)
    }

    /// When a pause of the link next begins or ends for the shards, or the link stops them.
    fn turn_ns(&self, now_ns: u64) -> u64 {
        let link = &self.network.link;
        if link.is_paused(now_ns) != self.paused {
            return now_ns;
        }
        link.turn_ns(now_ns).unwrap_or(u64::MAX)
    }

    fn advance(&mut self, now_ns: u64) {
        let seen_ns = self.waiting.front().map_or(now_ns, |next| next.at_ns);
        let turns = self.network.link.is_paused(now_ns) != self.paused;
        self.paused ^= turns;
        for index in 0..self.shards.len() {
            self.shards[index].set_seen(seen_ns);
            if now_ns >= self.network.link.arrivals_close_ns {
                self.shards[index].close_arrivals();
            }
            if now_ns >= self.network.link.stops_ns {
                self.shards[index].stop(now_ns);
            }
            match self.paused {
                true if turns => self.shards[index].pause_arrivals(),
                false if turns => self.shards[index].resume_arrivals(now_ns),
                _ => {}
            }
            loop {
                self.clock.now_ns.set(now_ns);
                let did = self.shards[index].advance(now_ns);
                let worked_ns = self.clock.now_ns.get();
                self.carry_out(worked_ns, index);
                if !did {
                    break;
                }
                self.network.spend(now_ns, worked_ns);
                if self.network.busy_until_ns > now_ns {
                    return;
                }
            }
        }
    }

    fn collect(&mut self, run: &mut SimRun, all: bool) {
        for shard in &mut self.shards {
            run.deltas.extend(shard.take_deltas());
            while let Some(rows) = shard.take_rows(all) {
                run.rows.extend(rows);
            }
        }
    }

    fn carry_out(&mut self, now_ns: u64, index: usize) {
        let commands = std::mem::take(self.shards[index].commands());
        for command in commands.list {
            match command {
                Command::Connect { conn, endpoint, choice } => {
                    let way = (self.network.link.way)(now_ns, endpoint, choice);
                    let name = self.network.connect(now_ns, index, conn, way);
                    self.names.insert((index, conn), name);
                }
                Command::Send { conn, start, end } => {
                    if let Some(&name) = self.names.get(&(index, conn)) {
                        self.network.send_to_peer(now_ns, name, &commands.bytes[start..end]);
                    }
                }
                Command::Close { conn } => {
                    if let Some(name) = self.names.remove(&(index, conn)) {
                        let route = &self.network.conns[name as usize];
                        let at_ns = route.to_peer_ns.max(now_ns + self.network.link.latency_ns);
                        self.network.push(at_ns, name, TransitEvent::ClosedAtPeer);
                    }
                }
            }
        }
    }

    /// Something arrives. A generator that has no CPU finds it when it gets it back.
    fn arrive(&mut self, now_ns: u64, queued: QueuedEvent) {
        let conn = queued.conn;
        match queued.what {
            TransitEvent::ConnectAtPeer => {
                self.network.conns[conn as usize].open = true;
                let at_ns = now_ns + self.network.link.latency_ns;
                self.network.push(at_ns, conn, TransitEvent::ConnectAtUser);
                self.notify_peer(now_ns, conn, PeerEvent::Connected);
            }
            TransitEvent::AtPeer(bytes) => {
                self.notify_peer(now_ns, conn, PeerEvent::Received(bytes));
            }
            TransitEvent::ClosedAtPeer => {
                self.notify_peer(now_ns, conn, PeerEvent::Closed);
                self.network.conns[conn as usize].open = false;
            }
            TransitEvent::Timer(number) => self.notify_peer(now_ns, conn, PeerEvent::Timer(number)),
            _ if self.waiting.is_empty() && self.network.thawed(now_ns) == now_ns => {
                self.notify_user(now_ns, queued);
            }
            _ => self.waiting.push_back(queued),
        }
    }

    fn notify_user(&mut self, now_ns: u64, queued: QueuedEvent) {
        let route = &self.network.conns[queued.conn as usize];
        let index = route.shard;
        let id = route.id;
        self.clock.now_ns.set(now_ns);
        let shard = &mut self.shards[index];
        shard.set_read_late(now_ns.saturating_sub(queued.at_ns));
        match queued.what {
            TransitEvent::ConnectAtUser => shard.handle_connected(now_ns, id),
            TransitEvent::RefusedAtUser(outcome) => {
                shard.handle_connect_failed(now_ns, id, outcome, "refused by the link");
            }
            TransitEvent::AtUser(bytes) => shard.handle_received(now_ns, id, &bytes),
            TransitEvent::ClosedAtUser => shard.handle_closed(now_ns, id, None),
            TransitEvent::ResetAtUser => {
                shard.handle_closed(now_ns, id, Some((Outcome::Reset, "reset by the link")));
            }
            TransitEvent::ConnectAtPeer
            | TransitEvent::AtPeer(_)
            | TransitEvent::ClosedAtPeer
            | TransitEvent::Timer(_) => {}
        }
        let worked_ns = self.clock.now_ns.get();
        self.network.spend(now_ns, worked_ns);
        self.carry_out(worked_ns, index);
    }

    fn notify_peer(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) {
        if !self.network.conns[conn as usize].open {
            return;
        }
        for action in self.peer.handle(now_ns, conn, event) {
            match action {
                PeerAction::Send(bytes) => {
                    self.network.send_to_user(now_ns, conn, TransitEvent::AtUser(bytes));
                }
                PeerAction::Close => {
                    self.network.send_to_user(now_ns, conn, TransitEvent::ClosedAtUser);
                    self.network.conns[conn as usize].open = false;
                }
                PeerAction::Reset => {
                    self.network.send_to_user(now_ns, conn, TransitEvent::ResetAtUser);
                    self.network.conns[conn as usize].open = false;
                }
                PeerAction::Timer { at_ns, number } => {
                    self.network.push(at_ns.max(now_ns), conn, TransitEvent::Timer(number));
                }
            }
        }
    }
}
