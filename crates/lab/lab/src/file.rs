//! The contents of a lab file, after all checks.

mod access;
mod effects;
mod faults;
mod hosts;
mod links;
mod locations;
mod names;
mod network;
mod read;
mod scaling;
mod schema;
mod services;
mod template;

pub use effects::describe;
pub(crate) use effects::links_with;
pub use faults::fault;
pub use read::lab;
pub use scaling::scaling;
pub use schema::schema;
pub use template::{CertificateFile, Piece, Property, Template};

use crate::wan::{EmulatorRequest, Link};
use machine::clock::Dilation;
use machine::group::Cpus;

use crate::scaling::Rules;

/// The region of the host that conducts runs: no distance separates it from any other.
pub const CONTROL: &str = "control";
/// The users of a region are on a host of this name, with the region's name behind it.
pub const CROWD_PREFIX: &str = "crowd-";
/// Most regions.
pub const REGIONS_MAX: usize = 64;
/// Most hosts, those of the crowd included.
pub const HOSTS_MAX: usize = 1_000;
/// Most services.
pub const SERVICES_MAX: usize = 200;
/// Longest name of a lab, region, host or service.
pub const NAME_MAX: usize = 40;

/// A lab.
#[derive(Debug, Clone)]
pub struct LabFile {
    /// Name of the lab; two labs of one name cannot be up at once.
    pub name: String,
    /// How many of the machine's seconds an emulated one lasts; see [`machine::clock`].
    pub dilation: u32,
    /// Names of regions; a link's place is a region's number, and [`CONTROL`] is the place behind the last.
    pub regions: Vec<String>,
    /// Those of them that are only users behind an access link.
    pub access: Vec<AccessRegion>,
    /// The location of each region.
    pub locations: Vec<Location>,
    /// From region a to region b at a · regions + b, in emulated time.
    pub links: Vec<Link>,
    /// The emulator of the links that the file asks for; [`emulator`](crate::emulator) says which one is
    /// used.
    pub emulator: EmulatorRequest,
    /// Hosts as they are written.
    pub hosts: Vec<Host>,
    /// In the order in which they start.
    pub services: Vec<Service>,
    /// Groups of instances that grow and shrink, in the order of their services and regions.
    pub scaling: Vec<ScalingGroup>,
    /// The file of the price list that hosts' prices are in, as it is written, relative to the lab's.
    pub prices: Option<String>,
    /// Prices of what hosts send.
    pub traffic: TrafficPrices,
    /// Names that users resolve.
    pub names: Vec<Name>,
    /// The scenario or experiment of `throng lab run`.
    pub run: Option<Run>,
    /// Faults during a run, by time.
    pub faults: Vec<TimedFault>,
}

impl LabFile {
    /// The same lab where one of its seconds lasts this many of the machine's.
    ///
    /// # Errors
    /// No lab can be as slow, a link would then be too long or too slow, also by a fault, or a host too slow.
    pub fn dilated(mut self, factor: u32) -> Result<LabFile, String> {
        Dilation::from_now(factor).map_err(|error| error.to_string())?;
        self.dilation = factor;
        let links = self.links.iter();
        let checked = links.map(|link| link.stretched(factor).check());
        checked
            .collect::<Result<(), _>>()
            .map_err(|error| format!("with a time dilation of {factor}: {error}"))?;
        for timed in &self.faults {
            let text = describe(&timed.fault, &self);
            links_with(&self, &[&timed.fault])
                .map_err(|error| format!("with a time dilation of {factor}, {text}: {error}"))?;
        }
        for host in &self.hosts {
            if host.cpus.is_some_and(|cpus| Cpus::new(cpus, factor).is_none()) {
                return Err(format!(
                    "with a time dilation of {factor}, {} has fewer cores than the kernel can grant; fix: more `cpus`, \
                     or less dilation",
                    host.name
                ));
            }
        }
        Ok(self)
    }

    /// All names that the lab's DNS knows, without its domain: those of hosts, of services, and further ones.
    pub fn names_resolved(&self) -> impl Iterator<Item = &str> {
        let hosts = self.hosts.iter().map(|host| host.name.as_str());
        let services = self.services.iter().map(|service| service.name.as_str());
        hosts.chain(services).chain(self.names.iter().map(|name| name.name.as_str()))
    }

    /// Whether anything names a file of a certificate, which the lab then makes.
    pub fn needs_certificate(&self) -> bool {
        let of_run = self.run.iter().flat_map(|run| run.sets.iter().chain(&run.environment));
        let of_run = of_run.map(|(_, template)| template);
        of_run
            .chain(self.services.iter().flat_map(Service::templates))
            .any(Template::has_certificate)
    }

    /// There and back between two regions, in nanoseconds, without jitter.
    pub fn round_trip_ns(&self, a: usize, b: usize) -> u64 {
        let delay_ns = |from: usize, to: usize| self.links[from * self.regions.len() + to].delay_ns;
        delay_ns(a, b) + delay_ns(b, a)
    }
}

/// A region of users behind an access link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRegion {
    /// Number of the region.
    pub region: usize,
    /// The region that the link leads to, by number.
    pub of: usize,
}

/// The location of a region, by codes of the file's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// Such as `europe`; `None`: unknown.
    pub continent: Option<String>,
    /// Such as `ie`.
    pub country: Option<String>,
    /// A part of a country, such as `us-va`.
    pub state: Option<String>,
}

/// A host.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Unique.
    pub name: String,
    /// Key of the host in the file: the hosts of `each` have one in common.
    pub group: String,
    /// Number of the region.
    pub region: usize,
    /// How many cores it may use; `None`: all.
    pub cpus: Option<f64>,
    /// How much memory it may use; `None`: all.
    pub memory_bytes: Option<u64>,
    /// The size of the disk that each instance on it has for itself, in memory; `None`: the machine's.
    pub disk_bytes: Option<u64>,
    /// Price of the host.
    pub price: Option<Price>,
    /// It is paid for in whole units of this length, in nanoseconds: what is begun counts.
    pub billing_ns: u64,
    /// Settings of its network, such as `net.core.somaxconn`, and their values.
    pub settings: Vec<(String, String)>,
}

/// The name of a price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// Name in the price list.
    pub name: String,
    /// Line in the file.
    pub line: usize,
}

/// Prices of what hosts send, for an amount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrafficPrices {
    /// The price of traffic to hosts of other regions.
    pub regions: Option<Price>,
    /// The price of traffic to users.
    pub users: Option<Price>,
}

/// Instances of a service in one region, as many of them as rules say.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingGroup {
    /// The service, by number.
    pub service: usize,
    /// The region, by number, where the service has hosts in several.
    pub region: Option<usize>,
    /// The hosts that instances may be launched on, by number, in the order of their first use.
    pub hosts: Vec<usize>,
    /// How many there are.
    pub rules: Rules,
}

/// A service that runs on the hosts of a group.
#[derive(Debug, Clone)]
pub struct Service {
    /// Unique.
    pub name: String,
    /// Hosts, by number: one instance on each.
    pub hosts: Vec<usize>,
    /// The program that serves it.
    pub program: Program,
    /// The port that it listens on; `None`: unknown.
    pub port: Option<u16>,
    /// When it counts as ready.
    pub ready: Ready,
    /// Environment variables.
    pub environment: Vec<Variable>,
    /// Files in its directory: name and text.
    pub files: Vec<(String, Template)>,
    /// Whether it is started again when it ends.
    pub restarts: bool,
    /// The signal that ends it, by number.
    pub stop_signal: i32,
    /// Line in the file.
    pub line: usize,
}

/// An environment variable of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The variable's name.
    pub name: String,
    /// The value in regions that have none of their own.
    pub value: Template,
    /// Values in regions, by their numbers.
    pub in_regions: Vec<(usize, Template)>,
}

impl Variable {
    /// The value in a region.
    pub fn value_in(&self, region: usize) -> &Template {
        let own = self.in_regions.iter().find(|(of, _)| *of == region);
        own.map_or(&self.value, |(_, value)| value)
    }
}

impl Service {
    /// All of its texts that are filled in.
    fn templates(&self) -> Vec<&Template> {
        let words = match &self.program {
            Program::Command(words) => words,
            Program::Package { options, .. } => options,
        };
        let variables = self.environment.iter().flat_map(|variable| {
            let in_regions = variable.in_regions.iter().map(|(_, template)| template);
            in_regions.chain([&variable.value])
        });
        let files = self.files.iter().map(|(_, template)| template);
        words.iter().chain(variables).chain(files).collect()
    }

    /// Whether it is one of `throng serve`, which this program is.
    pub fn is_own(&self) -> bool {
        let Program::Command(words) = &self.program else {
            return false;
        };
        let is = |at: usize, word: &str| words.get(at).is_some_and(|of| of.is_text(word));
        is(0, "throng") && is(1, "serve")
    }
}

/// The program of a service.
#[derive(Debug, Clone)]
pub enum Program {
    /// A server from the system's packages.
    Package {
        /// The package.
        package: Package,
        /// Further options, as its command line or its configuration has them.
        options: Vec<Template>,
        /// The service that it follows as a replica.
        replica_of: Option<usize>,
    },
    /// Any command.
    Command(Vec<Template>),
}

/// Servers that are ready pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// MariaDB.
    MariaDb,
    /// PostgreSQL.
    Postgres,
    /// Redis.
    Redis,
    /// NATS.
    Nats,
    /// nginx, with a configuration of the file's own.
    Nginx,
}

/// When a service counts as ready.
#[derive(Debug, Clone)]
pub enum Ready {
    /// It accepts connections at this port of its host.
    Port(u16),
    /// This path of its port is answered with a status below 400.
    Path(u16, String),
    /// At once.
    Started,
}

/// A name that users resolve.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// Without `.lab`.
    pub name: String,
    /// The service, by number.
    pub service: usize,
    /// Which instances a user gets.
    pub policy: Policy,
    /// How long an answer may be kept, in seconds.
    pub ttl_s: u32,
}

/// Which instances of a service are answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Policy {
    /// All that are well.
    Simple,
    /// One, by weights of its instances' regions.
    Weighted(Vec<(usize, f64)>),
    /// The one that is nearest to the user's region.
    Latency,
    /// The first of these regions that has one which is well.
    Failover(Vec<usize>),
    /// By where the user is, the region of the instance: the most specific entry that has an instance which is well.
    Geolocation(Vec<(Origin, usize)>),
    /// By what each site replies about the user.
    Matchmaking(Matchmaking),
}

/// The origin of the users that an entry of a geolocation policy is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In a region, by number.
    Region(usize),
    /// In the regions of a state.
    State(String),
    /// In the regions of a country.
    Country(String),
    /// In the regions of a continent.
    Continent(String),
    /// Anywhere.
    Default,
}

/// An entry point that asks all sites whether they have a user's data and may serve the user, and at what cost; of those
/// that may, the nearest is chosen, or a cheaper one that is little farther away. If there is none, the user is denied.
#[derive(Debug, Clone, PartialEq)]
pub struct Matchmaking {
    /// Replies of the sites by the region of their instances. Others do not take part.
    pub sites: Vec<(usize, MatchmakingSite)>,
    /// The region of the entry point, by number: users wait for it, and it for the farthest site. `None`: nobody waits.
    pub entry: Option<usize>,
    /// How much longer the round trip to a cheaper site may be, in nanoseconds.
    pub within_ns: u64,
}

/// A site's reply.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchmakingSite {
    /// Regions whose users' data it has.
    pub data: Vec<usize>,
    /// Regions whose users it may serve.
    pub permits: Vec<usize>,
    /// In any unit.
    pub cost: f64,
}

/// The scenario or experiment of `throng lab run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The scenario's or experiment's file as it is written, relative to the lab's.
    pub file: String,
    /// Whether it is an experiment.
    pub is_experiment: bool,
    /// Overrides: key and value.
    pub sets: Vec<(String, Template)>,
    /// Environment variables, for what is secret.
    pub environment: Vec<(String, Template)>,
}

/// A fault with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedFault {
    /// Since the run's start, in nanoseconds.
    pub at_ns: u64,
    /// For how long; `None`: until the end.
    pub for_ns: Option<u64>,
    /// The fault.
    pub fault: Fault,
}

/// A disturbance of a lab.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Nothing passes between these two groups of regions, in both directions.
    Partition(Vec<usize>, Vec<usize>),
    /// Links between two groups of regions are slower or lose packets, in both directions.
    Degrade {
        /// One side.
        a: Vec<usize>,
        /// The other.
        b: Vec<usize>,
        /// Added to the one-way delay.
        delay_ns: u64,
        /// The share of packets that is lost instead of the link's.
        loss: Option<f64>,
        /// The rate instead of the link's.
        rate_bits: Option<u64>,
    },
    /// Instances are killed (SIGKILL); their restart rule holds once the fault is over, or at once if it has no end.
    Kill(Instances),
    /// Instances are stopped (SIGSTOP), and continued when the fault is over.
    Freeze(Instances),
    /// Instances are ended in good order and started again.
    Restart(Instances),
    /// The disks of instances are full.
    FillDisk(Instances),
    /// Instances can open no further file or connection.
    ExhaustFiles(Instances),
    /// The wall clocks of instances are ahead by this many nanoseconds.
    SkewClock(Instances, i64),
}

impl Fault {
    /// Whether the two cannot be at work at once: both do the same to an instance, so that the end of one would end the
    /// other.
    pub fn collides_with(&self, other: &Fault) -> bool {
        let held = |fault: &Fault| match fault {
            Fault::Kill(of)
            | Fault::Freeze(of)
            | Fault::FillDisk(of)
            | Fault::ExhaustFiles(of)
            | Fault::SkewClock(of, _) => Some(of.clone()),
            Fault::Partition(..) | Fault::Degrade { .. } | Fault::Restart(_) => None,
        };
        let (Some(a), Some(b)) = (held(self), held(other)) else {
            return false;
        };
        let is_same = std::mem::discriminant(self) == std::mem::discriminant(other);
        is_same && a.service == b.service && a.hosts.iter().any(|host| b.hosts.contains(host))
    }
}

/// Instances of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instances {
    /// The service, by number.
    pub service: usize,
    /// Hosts, by number.
    pub hosts: Vec<usize>,
}
