//! A run as it takes place in a lab: `throng lab exec` and `throng lab run` say in which.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use controller::Surroundings;
use judge::UNLIMITED_HOSTS;
use lab::client::{Client, ClientError, EventStream, Reporter};
use lab::events::Event;
use lab::file::CROWD_PREFIX;
use lab::folder::Folder;
use lab::message::Status;
use plan::probes::{Page, Probe, ProbeKind, Secret};
use record::schema::{EventKind, HostFlow, HostUse, TrafficPrices};

use super::VARIABLE;
use super::prices::prices_of;
use crate::exit::{Exit, Failure};

/// How often the lab's page is queried: as often as other probes are.
const PROBE_EVERY_NS: u64 = 1_000_000_000;

/// The lab that this process runs in.
#[derive(Debug)]
struct Inside {
    folder: Folder,
    /// As it was before the run.
    status: Status,
    /// Reports to the lab on a run, and ends its events.
    reporter: Mutex<Option<Reporter>>,
}

/// The lab that this process runs in, if it does.
pub(crate) fn surroundings() -> Result<Option<Arc<dyn Surroundings>>, Failure> {
    let Some(path) = std::env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let folder = Folder::at(&PathBuf::from(path));
    let status = Client::connect(&folder).and_then(Client::status);
    let status = status.map_err(|error| {
        let message = format!("{VARIABLE} names a lab that does not answer: {error}");
        let hint = format!("unset {VARIABLE} to run outside of a lab");
        Failure::hinted(Exit::Unavailable, message, &hint)
    })?;
    Ok(Some(Arc::new(Inside { folder, status, reporter: Mutex::new(None) })))
}

impl Inside {
    fn follow(&self, unix_ns: u64) -> Result<EventStream, ClientError> {
        let followed = Client::connect(&self.folder)?.follow(unix_ns)?;
        let reporter = followed.reporter().map_err(ClientError::Gone)?;
        *self.reporter.lock().unwrap_or_else(PoisonError::into_inner) = Some(reporter);
        Ok(followed)
    }

    /// Events of the network and the hosts until now.
    fn done(&self) -> Result<Vec<EventKind>, ClientError> {
        let status = Client::connect(&self.folder).and_then(Client::status)?;
        Ok(vec![network(&status), used(&status)])
    }
}

fn network(status: &Status) -> EventKind {
    let network = &status.network;
    EventKind::NetworkEmulated {
        packets: network.packets,
        lost: network.lost,
        overflow: network.overflow,
        late_p99_ns: network.late_p99_ns,
        late_max_ns: network.late_max_ns,
        cpu_ns: network.cpu_s.map(|cpu_s| (cpu_s * 1e9) as u64),
    }
}

/// For how long each host was in use, with its price if the lab has a price list that can still be read.
fn used(status: &Status) -> EventKind {
    let hourly = prices_of(Path::new(&status.file), status.prices.as_deref());
    let hourly = hourly.ok().flatten();
    let hosts = status.hosts.iter().filter_map(|host| {
        let usage = host.usage?;
        let prices = hourly.as_ref().zip(host.price.as_ref());
        let per_hour = prices.and_then(|(hourly, price)| hourly.per_hour.get(price));
        Some(HostUse {
            host: host.name.clone(),
            region: host.region.clone(),
            used_ns: usage.used_ns,
            billed_ns: usage.billed_ns,
            per_hour: per_hour.cloned(),
        })
    });
    let hosts = hosts.collect();
    let flows = status.network.flows.iter().flatten().map(|flow| HostFlow {
        from: flow.from.clone(),
        from_region: flow.from_region.clone(),
        to: flow.to.clone(),
        to_region: flow.to_region.clone(),
        bytes: flow.bytes,
    });
    let per_gb = |name: &Option<String>| {
        let prices = hourly.as_ref().zip(name.as_ref());
        prices.and_then(|(hourly, name)| hourly.per_gb.get(name).cloned())
    };
    let traffic = TrafficPrices {
        regions: per_gb(&status.traffic.regions),
        users: per_gb(&status.traffic.users),
    };
    EventKind::LabUsed {
        currency: hourly.as_ref().map(|hourly| hourly.currency.clone()),
        hosts,
        flows: flows.collect(),
        traffic,
    }
}

impl Surroundings for Inside {
    fn netns(&self, region: &str) -> Option<PathBuf> {
        let name = format!("{CROWD_PREFIX}{region}");
        let hosts = &self.status.hosts;
        let host = hosts.iter().find(|host| host.name == name)?;
        Some(host.namespace.clone())
    }

    fn facts(&self) -> Vec<(String, String)> {
        let of_lab = |host: &&lab::message::HostStatus| {
            host.region != lab::file::CONTROL && !host.name.starts_with(CROWD_PREFIX)
        };
        let hosts = self.status.hosts.iter().filter(of_lab);
        let hosts = hosts.map(|host| format!("{} in {}", host.name, host.region));
        let mut facts = vec![
            ("lab".to_owned(), self.status.lab.clone()),
            (
                "lab emulates".to_owned(),
                "hosts as network namespaces and the links between them, on this machine's cores"
                    .to_owned(),
            ),
            ("lab hosts".to_owned(), hosts.collect::<Vec<_>>().join(", ")),
            ("lab regions".to_owned(), self.status.regions.join(", ")),
            ("lab network".to_owned(), self.status.network.by.clone()),
        ];
        let unlimited = self.status.hosts.iter().filter(|host| host.is_unlimited);
        let unlimited: Vec<&str> = unlimited.map(|host| host.name.as_str()).collect();
        if !unlimited.is_empty() {
            facts.push((UNLIMITED_HOSTS.to_owned(), unlimited.join(", ")));
        }
        if self.status.dilation > 1 {
            facts.push(("lab dilation".to_owned(), self.status.dilation.to_string()));
        }
        facts
    }

    fn prepare(&self, scaling: Option<&str>) -> Result<(), String> {
        let prepared = Client::connect(&self.folder).and_then(|client| client.prepare(scaling));
        prepared.map_err(|error| error.to_string())
    }

    /// Probes of the hosts' resources, and of scaling groups.
    fn probes(&self) -> Vec<Probe> {
        vec![Probe {
            kind: ProbeKind::Prometheus {
                page: Page { url: Secret::new(self.status.metrics.clone()), headers: Vec::new() },
                metrics: Vec::new(),
            },
            role: "lab".to_owned(),
            region: String::new(),
            name: Some(self.status.lab.clone()),
            every_ns: PROBE_EVERY_NS,
        }]
    }

    fn crowd(&self, users: u64, arrivals_per_s: f64) {
        let reporter = self.reporter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reporter) = reporter.as_ref() {
            reporter.crowd(users, arrivals_per_s);
        }
    }

    fn begin(&self, unix_ns: u64) -> Receiver<(u64, EventKind)> {
        let (sender, receiver) = channel();
        let factor = self.status.dilation;
        if factor > 1 {
            // The receiver is here.
            let _ = sender.send((unix_ns, EventKind::TimeDilated { factor }));
        }
        match self.follow(unix_ns) {
            Ok(mut followed) => {
                std::thread::spawn(move || {
                    while let Some(event) = followed.next_event() {
                        if sender.send((event.unix_ns, kind(event))).is_err() {
                            return;
                        }
                    }
                });
            }
            Err(error) => {
                let text = format!("the lab's events are not known: {error}");
                // The receiver is here.
                let _ = sender.send((unix_ns, EventKind::Note { text }));
            }
        }
        receiver
    }

    fn end(&self) -> Vec<EventKind> {
        let done = self.done().unwrap_or_else(|error| {
            let text = format!("what the lab did is not known: {error}");
            vec![EventKind::Note { text }]
        });
        let mut reporter = self.reporter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reporter) = reporter.take() {
            reporter.close();
        }
        done
    }
}

fn kind(event: Event) -> EventKind {
    let text = event.text;
    match event.fault {
        Some((number, true)) => EventKind::FaultBegan { number, text },
        Some((number, false)) => EventKind::FaultEnded { number, text },
        None => EventKind::Note { text },
    }
}
