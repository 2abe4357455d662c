//! A lab that is up: its hosts, the network between them, and what runs on them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::wan::{Choice, Namespace, Network};
use machine::clock::{Dilation, unix_ns};
use machine::group::{Cpus, Group, GroupLimits};
use machine::procfs;

use crate::certificates;
use crate::directory::Directory;
use crate::dns::{self, NameServers, Resolve};
use crate::error::{SystemError, io_error};
use crate::events::Events;
use crate::file::{LabFile, Program, Template};
use crate::flows;
use crate::folder::Folder;
use crate::instance::END_MAX;
use crate::layout::{self, HostPlan};
use crate::message::{HostStatus, InstanceStatus, NetworkStatus, Status, TrafficPricesStatus};
use crate::network;
use crate::pieces;
use crate::scaler::Scaler;
use crate::site::{Host, Site};

/// The seed of losses and jitter.
const SEED: u64 = 1;
/// Open connections that may wait, and ports that clients may use, on each host.
const SETTINGS: [(&str, &str); 3] = [
    ("net/core/somaxconn", "65535"),
    ("net/ipv4/tcp_max_syn_backlog", "65535"),
    ("net/ipv4/ip_local_port_range", "10000 65535"),
];
/// Prefix of the names of a lab's control groups. No name has an underscore, so that the groups of another
/// lab, whose name begins with this one's, begin with something else.
pub(crate) fn group_prefix(lab: &str) -> String {
    format!("throng-lab-{lab}_")
}

/// A lab that is up.
pub(crate) struct System {
    // Services end before the network does: the order of the fields is that of their ends.
    pub(crate) scaler: Scaler,
    pub(crate) site: Arc<Site>,
    _names: NameServers,
    pub(crate) network: Arc<dyn Network>,
    /// The emulator of the network, and the reason.
    choice: Choice,
    pub(crate) directory: Arc<Directory>,
    pub(crate) events: Arc<Events>,
    source: PathBuf,
    since_unix_ns: u64,
    /// See [`System::dropped`]: when the network was last reset.
    dropped_before: AtomicU64,
}

impl System {
    /// Makes all hosts and starts all services. `source` is the lab's file; `progress` is called with what comes next.
    pub(crate) fn start(
        file: LabFile,
        source: &Path,
        folder: &Folder,
        progress: &mut dyn FnMut(String),
    ) -> Result<System, SystemError> {
        let events =
            Events::create(&folder.events()).map_err(io_error("write the lab's events"))?;
        let events = Arc::new(events);
        let plans = layout::hosts(&file);
        progress(format!("{} hosts in {} regions", file.hosts.len(), file.regions.len()));
        let choice = network::emulator(&file)?;
        progress(format!("the network: {}", network::in_words(&choice)));
        let subnets = layout::subnets(&file);
        let network = crate::wan::start(choice.emulator, &subnets, network::links(&file), SEED)?;
        let network: Arc<dyn Network> = Arc::from(network);
        let hosts = make_hosts(&file, plans.clone(), &*network, folder, progress)?;
        let password = machine::secret(12).map_err(io_error("read random numbers"))?;
        let beside = source.parent().unwrap_or(Path::new("/"));
        let certificate = folder.path().join("certificate");
        if file.needs_certificate() {
            let names = file.names_resolved();
            certificates::make(&certificate, names).map_err(io_error("make a certificate"))?;
        }
        let directory = Directory::new(file, plans, password, beside, certificate);
        let directory = Arc::new(directory);
        let names = start_names(&hosts, &directory, &events)?;
        let site = Site::new(hosts, Arc::clone(&directory), Arc::clone(&events), folder.clone());
        let site = Arc::new(site);
        let system = System {
            scaler: Scaler::new(&site, &network)
                .map_err(io_error("serve the lab's page of metrics"))?,
            site,
            _names: names,
            network,
            choice,
            directory,
            events,
            source: source.to_owned(),
            since_unix_ns: unix_ns(),
            dropped_before: AtomicU64::new(0),
        };
        for service in 0..system.directory.file.services.len() {
            system.start_service(service, progress)?;
        }
        system.scaler.start();
        Ok(system)
    }

    /// Starts all instances of a service at once, of a scaling group as many as it desires, and waits until they are
    /// ready.
    fn start_service(
        &self,
        service: usize,
        progress: &mut dyn FnMut(String),
    ) -> Result<(), SystemError> {
        let file = &self.site.directory.file;
        progress(format!("starting {}", file.services[service].name));
        let mut hosts = file.services[service].hosts.clone();
        let mut end_max = END_MAX;
        let groups = file.scaling.iter();
        for group in groups.filter(|group| group.service == service) {
            let later = &group.hosts[group.rules.desired as usize..];
            hosts.retain(|host| !later.contains(host));
            end_max = Duration::from_nanos(group.rules.drain_ns);
        }
        let started: Result<Vec<()>, SystemError> = thread::scope(|scope| {
            let threads =
                hosts.iter().map(|host| scope.spawn(|| self.site.start(service, *host, end_max)));
            let threads: Vec<_> = threads.collect();
            let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        started.map(|_| ())
    }

    /// A host by its name.
    pub(crate) fn host(&self, name: &str) -> Option<&Host> {
        self.site.hosts.iter().find(|host| host.plan.name == name)
    }

    /// Counts again from zero what the network does.
    pub(crate) fn reset_network(&self) -> Result<(), SystemError> {
        self.dropped_before.store(self.dropped(), Ordering::Relaxed);
        Ok(self.network.reset()?)
    }

    /// Packets that hosts sent and their devices dropped, as the network was too slow to read them, since the hosts were made.
    fn dropped(&self) -> u64 {
        let all = self.site.hosts.iter().map(|host| host.namespace.dropped());
        all.filter_map(Result::ok).sum()
    }

    /// The network of a region's users.
    pub(crate) fn namespace_of_crowd(&self, region: usize) -> &Namespace {
        &self.site.hosts[self.directory.file.hosts.len() + region].namespace
    }

    /// Names of all hosts.
    pub(crate) fn host_names(&self) -> impl Iterator<Item = &str> {
        self.site.hosts.iter().map(|host| host.plan.name.as_str())
    }

    /// Values for the lab's run, as they are for the host that conducts it.
    fn values(&self, of: &[(String, Template)]) -> Result<BTreeMap<String, String>, SystemError> {
        let control = &self.site.hosts[self.site.hosts.len() - 1].plan;
        let values = of.iter().map(|(key, template)| {
            let filled = self.directory.fill(template, control, None);
            let filled =
                filled.map_err(|source| SystemError::Fill { instance: key.clone(), source })?;
            Ok((key.clone(), filled))
        });
        values.collect()
    }

    pub(crate) fn status(&self, faults: Vec<(u32, String)>) -> Result<Status, SystemError> {
        let file = &self.directory.file;
        let run = file.run.as_ref();
        let (sets, environment) =
            run.map_or((&[][..], &[][..]), |run| (&run.sets, &run.environment));
        let uses = self.scaler.uses();
        let hosts = self.site.hosts.iter().enumerate();
        let hosts = hosts.map(|(number, host)| HostStatus {
            name: host.plan.name.clone(),
            region: match file.regions.get(usize::from(host.plan.place)) {
                Some(region) => region.clone(),
                None => crate::file::CONTROL.to_owned(),
            },
            address: host.plan.address,
            namespace: self.site.folder.namespace(&host.plan.name),
            cpus: host.plan.cpus,
            cpu_s: host.group.as_ref().and_then(Group::cpu_ns).map(|ns| ns as f64 / 1e9),
            memory_bytes: host.group.as_ref().and_then(Group::memory_bytes),
            is_unlimited: host.group.is_none() && host.plan.is_limited(),
            price: file
                .hosts
                .iter()
                .find(|written| written.name == host.plan.name)
                .and_then(|written| Some(written.price.as_ref()?.name.clone())),
            usage: uses.get(number).copied(),
        });
        Ok(Status {
            lab: file.name.clone(),
            dilation: file.dilation,
            file: self.source.display().to_string(),
            prices: file.prices.clone(),
            traffic: TrafficPricesStatus {
                regions: file.traffic.regions.as_ref().map(|price| price.name.clone()),
                users: file.traffic.users.as_ref().map(|price| price.name.clone()),
            },
            up_since_unix_ns: self.since_unix_ns,
            regions: file.regions.clone(),
            hosts: hosts.collect(),
            instances: self.instances(),
            groups: self.scaler.status(),
            metrics: self.scaler.page_url(),
            sets: self.values(sets)?,
            environment: self.values(environment)?,
            network: self.network()?,
            names: self.directory.questions(),
            faults,
        })
    }

    /// All instances. What it locks is free again afterwards: groups lock themselves first, then this.
    fn instances(&self) -> Vec<InstanceStatus> {
        let file = &self.directory.file;
        let running = self.site.running();
        let instances = running.iter().map(|running| {
            let seen = running.instance.seen().get();
            InstanceStatus {
                name: running.instance.name.clone(),
                host: file.hosts[running.host].name.clone(),
                state: seen.state,
                pid: seen.pid,
                restarts: seen.restarts,
            }
        });
        instances.collect()
    }

    /// Figures of the network since its counts were reset.
    fn network(&self) -> Result<NetworkStatus, SystemError> {
        let done = self.network.done()?;
        let dilation = Dilation::of_process();
        let before = self.dropped_before.load(Ordering::Relaxed);
        Ok(NetworkStatus {
            by: self.choice.emulator.name().to_owned(),
            why: self.choice.why.clone(),
            packets: done.packets,
            lost: done.lost,
            overflow: done.overflow + self.dropped().saturating_sub(before),
            late_p99_ns: done.late.map(|late| dilation.shrink_ns(late.p99_ns)),
            late_max_ns: done.late.map(|late| dilation.shrink_ns(late.max_ns)),
            cpu_s: done.cpu.map(|cpu| cpu.as_secs_f64()),
            flows: flows::between(&self.directory, &*self.network)?,
        })
    }
}

/// Instances end in the reverse order of their starts.
impl Drop for System {
    fn drop(&mut self) {
        self.scaler.stop();
        while let Some(running) = { self.site.running().pop() } {
            drop(running);
        }
    }
}

/// Namespaces and control groups of all hosts.
fn make_hosts(
    file: &LabFile,
    plans: Vec<HostPlan>,
    network: &dyn Network,
    folder: &Folder,
    progress: &mut dyn FnMut(String),
) -> Result<Vec<Host>, SystemError> {
    let mut hosts = Vec::new();
    let mut unlimited = UnlimitedHosts::default();
    for (number, plan) in plans.into_iter().enumerate() {
        let namespace = network.add_host(plan.place, plan.address)?;
        set_up(&namespace, &folder.namespace(&plan.name))
            .map_err(io_error(format!("set up the host {}", plan.name)))?;
        for (setting, value) in
            file.hosts.get(number).map_or(&[][..], |host| host.settings.as_slice())
        {
            set(&namespace, setting, value)
                .map_err(io_error(format!("set {setting} of {} to {value}", plan.name)))?;
        }
        let limits = GroupLimits {
            cpus: plan
                .cpus
                .map(|cpus| granted(cpus, file.dilation))
                .transpose()
                .map_err(io_error(format!("limit the CPU of {}", plan.name)))?,
            memory_bytes: plan.memory_bytes,
        };
        let name = group_prefix(&file.name) + &plan.name;
        let group = match Group::create(&name, limits) {
            Ok(group) => Some(group),
            Err(error) => {
                unlimited.add(&plan, error);
                None
            }
        };
        hosts.push(Host { plan, namespace: Arc::new(namespace), group });
    }
    if let Some(text) = unlimited.text() {
        progress(text);
    }
    Ok(hosts)
}

/// Cores of the lab, if the kernel grants as few.
fn granted(cores: f64, dilation: u32) -> io::Result<Cpus> {
    let too_few = || io::Error::new(io::ErrorKind::InvalidInput, "the kernel grants no fewer");
    Cpus::new(cores, dilation).ok_or_else(too_few)
}

/// Hosts without a control group.
#[derive(Debug, Default)]
struct UnlimitedHosts {
    count: usize,
    /// Names of those hosts that have limits in the file.
    limited: Vec<String>,
    error: Option<io::Error>,
}

impl UnlimitedHosts {
    fn add(&mut self, plan: &HostPlan, error: io::Error) {
        self.count += 1;
        self.error.get_or_insert(error);
        if plan.is_limited() {
            self.limited.push(plan.name.clone());
        }
    }

    /// A warning about limits that do not hold and figures that are missing; `None`: all hosts have a control
    /// group.
    fn text(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        let limits = match self.limited.as_slice() {
            [] => String::new(),
            names => format!("`cpus` and `memory` do not limit {}, and ", names.join(", ")),
        };
        let hosts = units::counted(self.count as u64, "host");
        Some(format!(
            "control groups cannot be written ({error}): {limits}the CPU time of {hosts} is not counted"
        ))
    }
}

/// Sets what a host's kernel limits, and keeps the namespace under a name.
fn set_up(namespace: &Namespace, path: &Path) -> io::Result<()> {
    fs::File::create(path)?;
    namespace.run(|| {
        for (name, value) in SETTINGS {
            // In a user namespace some may not be written; their defaults do for fewer users.
            let _ = fs::write(Path::new(procfs::SETTINGS).join(name), value);
        }
        rustix::mount::mount_bind(procfs::OWN_NETWORK, path)
    })??;
    Ok(())
}

/// Sets what a host's network has for itself.
fn set(namespace: &Namespace, setting: &str, value: &str) -> io::Result<()> {
    let path = Path::new(procfs::SETTINGS).join(setting.replace('.', "/"));
    namespace.run(|| fs::write(path, value))?
}

fn start_names(
    hosts: &[Host],
    directory: &Arc<Directory>,
    events: &Arc<Events>,
) -> Result<NameServers, SystemError> {
    let at = hosts.iter().map(|host| (Arc::clone(&host.namespace), usize::from(host.plan.place)));
    let at: Vec<_> = at.collect();
    let directory = Arc::clone(directory);
    let resolve: Arc<Resolve> = Arc::new(move |name, region| directory.resolve(name, region));
    NameServers::start(&at, &resolve, events).map_err(io_error("start a name server"))
}

/// Contents of the resolver's file on all hosts.
pub(crate) fn resolver_file() -> String {
    format!("nameserver {}\noptions timeout:2 attempts:2\n", dns::ADDRESS)
}

/// Programs that are missing for a lab's services, with Debian's names of their packages.
pub fn missing_programs(file: &LabFile) -> Vec<(String, usize, String)> {
    let mut missing = Vec::new();
    if file.needs_certificate() && pieces::program(certificates::PROGRAM).is_none() {
        let line = file.services.first().map_or(1, |service| service.line);
        let hint = "on Debian, `sudo apt-get install openssl`".to_owned();
        missing.push((certificates::PROGRAM.to_owned(), line, hint));
    }
    for service in &file.services {
        match &service.program {
            Program::Package { package, .. } => {
                if let Some((program, debian)) = pieces::missing(*package) {
                    let hint = format!("on Debian, `sudo apt-get install {debian}`");
                    missing.push((program.to_owned(), service.line, hint));
                }
            }
            Program::Command(words) => {
                let first = words.first().and_then(|word| word.fill(|_| Err(())).ok());
                let known = |word: &String| word == "throng" || pieces::program(word).is_some();
                if let Some(word) = first.filter(|word| !known(word)) {
                    missing.push((word, service.line, "install it, or write its path".to_owned()));
                }
            }
        }
    }
    missing
}

/// Memory that all hosts together are granted, as far as they have limits, and all disks, in bytes.
pub fn memory_granted(file: &LabFile) -> u64 {
    let memory: u64 = file.hosts.iter().filter_map(|host| host.memory_bytes).sum();
    let instances = file.services.iter().flat_map(|service| &service.hosts);
    let disks = instances.filter_map(|host| file.hosts[*host].disk_bytes);
    memory.saturating_add(disks.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_a_lab_are_no_other_labs() {
        let group = |lab: &str, host: &str| group_prefix(lab) + host;
        assert!(!group("own-eu", "web").starts_with(&group_prefix("own")));
        assert!(group("own", "web").starts_with(&group_prefix("own")));
        assert_ne!(group("a", "b-c"), group("a-b", "c"));
    }

    #[test]
    fn hosts_that_nothing_limits_are_named() {
        let plan = |name: &str, cpus| HostPlan {
            name: name.to_owned(),
            place: 0,
            address: std::net::Ipv4Addr::LOCALHOST,
            cpus,
            memory_bytes: None,
        };
        let mut unlimited = UnlimitedHosts::default();
        assert_eq!(unlimited.text(), None);
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        unlimited.add(&plan("crowd-eu", None), refused());
        let text = unlimited.text().unwrap();
        assert!(!text.contains("limit"), "{text}");
        unlimited.add(&plan("web", Some(0.1)), refused());
        unlimited.add(&plan("db", Some(1.0)), refused());
        let text = unlimited.text().unwrap();
        assert!(text.contains("do not limit web, db"), "{text}");
        assert!(text.contains("3 hosts"), "{text}");
    }
}
