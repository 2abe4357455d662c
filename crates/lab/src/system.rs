//! A lab that is up: its hosts, the network between them, and what runs on them.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use machine::clock::{self, Dilation, unix_ns};
use machine::group::{Group, GroupLimits};
use machine::procfs;
use rustix::mount::{MountFlags, mount};
use wan::{Forwarder, Namespace, Port, WanError};

use crate::directory::{Directory, FillError};
use crate::dns::{self, NameServers, Resolve};
use crate::events::Events;
use crate::file::{Instances, LabFile, Part, Template};
use crate::folder::Folder;
use crate::instance::{Instance, InstanceError, Launch, in_groups};
use crate::layout::{self, Placed};
use crate::message::{HostStatus, InstanceStatus, NetworkStatus, Status};
use crate::pieces::{self, Commands, Piece};
use crate::shortage;

/// The largest packet, in bytes: Ethernet's.
const MTU: u16 = 1500;
/// The seed of losses and jitter.
const SEED: u64 = 1;
/// Open connections that may wait, and ports that clients may use, on each host.
const SETTINGS: [(&str, &str); 3] = [
    ("net/core/somaxconn", "65535"),
    ("net/ipv4/tcp_max_syn_backlog", "65535"),
    ("net/ipv4/ip_local_port_range", "10000 65535"),
];
/// Names of control groups begin with this and the lab's name.
pub(crate) const GROUP_PREFIX: &str = "throng-lab-";

/// Why a lab is not up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SystemError {
    /// No network.
    #[error(transparent)]
    Wan(#[from] WanError),
    /// A service is not there.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A text cannot be filled in.
    #[error("{instance}: {source}")]
    Fill {
        /// The instance.
        instance: String,
        /// Why.
        source: FillError,
    },
    /// A fault while one of its kind is at work.
    #[error("the fault {0} does the same to an instance already")]
    Collides(u32),
    /// A file or a system call.
    #[error("cannot {what}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

fn io_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> SystemError {
    let what = what.into();
    move |source| SystemError::Io { what, source }
}

/// A host at work.
pub(crate) struct Host {
    placed: Placed,
    namespace: Arc<Namespace>,
    /// `None`: nothing limits or counts what runs on it.
    group: Option<Group>,
}

impl Host {
    /// A command that joins the host's control group.
    pub(crate) fn command(&self, words: &[String]) -> Command {
        let joins = self.group.as_ref().map(Group::joins).unwrap_or_default();
        in_groups(&joins, &own_program(words.to_vec()))
    }

    /// Starts a command on the host.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.namespace.spawn(command)
    }
}

/// An instance and where it is.
pub(crate) struct Running {
    pub(crate) service: usize,
    pub(crate) host: usize,
    pub(crate) instance: Instance,
}

/// A lab that is up.
pub(crate) struct System {
    // Services end before the network does: the order of the fields is that of their ends.
    pub(crate) running: Vec<Running>,
    _names: NameServers,
    pub(crate) forwarder: Forwarder,
    hosts: Vec<Host>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) events: Arc<Events>,
    folder: Folder,
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
        let placed = layout::hosts(&file);
        progress(format!(
            "{} hosts in {} regions",
            file.hosts.len(),
            file.regions.len()
        ));
        let (hosts, ports) = make_hosts(&file, placed.clone(), folder, progress)?;
        let links = layout::links(&file).into_iter();
        let links = links.map(|link| link.stretched(file.dilation)).collect();
        let forwarder = Forwarder::start(ports, links, SEED)?;
        let password = machine::secret(12).map_err(io_error("read random numbers"))?;
        let beside = source.parent().unwrap_or(Path::new("/"));
        let directory = Arc::new(Directory::new(file, placed, password, beside));
        let names = start_names(&hosts, &directory)?;
        let mut system = System {
            running: Vec::new(),
            _names: names,
            forwarder,
            hosts,
            directory,
            events,
            folder: folder.clone(),
            source: source.to_owned(),
            since_unix_ns: unix_ns(),
            dropped_before: AtomicU64::new(0),
        };
        for service in 0..system.directory.file.services.len() {
            system.start_service(service, progress)?;
        }
        Ok(system)
    }

    /// Starts all instances of a service at once, and waits until they are ready.
    fn start_service(
        &mut self,
        service: usize,
        progress: &mut dyn FnMut(String),
    ) -> Result<(), SystemError> {
        let hosts = self.directory.file.services[service].hosts.clone();
        progress(format!(
            "starting {}",
            self.directory.file.services[service].name
        ));
        let launches: Result<Vec<Launch>, SystemError> = hosts
            .iter()
            .map(|host| self.launch(service, *host))
            .collect();
        let launches = launches?;
        let started: Vec<Result<Instance, InstanceError>> = thread::scope(|scope| {
            let threads = hosts.iter().zip(launches).map(|(host, launch)| {
                let namespace = Arc::clone(&self.hosts[*host].namespace);
                let events = Arc::clone(&self.events);
                scope.spawn(move || Instance::start(launch, namespace, events))
            });
            let threads: Vec<_> = threads.collect();
            let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for (host, instance) in hosts.into_iter().zip(started) {
            let instance = instance?;
            self.events.add(format!("{} is ready", instance.name));
            self.directory.add(service, host, instance.seen());
            self.running.push(Running {
                service,
                host,
                instance,
            });
        }
        Ok(())
    }

    /// How an instance is started.
    fn launch(&self, service: usize, host: usize) -> Result<Launch, SystemError> {
        let directory = &self.directory;
        let name = directory.instance(service, host);
        let (of, at) = (&directory.file.services[service], &self.hosts[host]);
        let folder = self.folder.data(&name);
        fs::create_dir_all(&folder).map_err(io_error(format!("make {}", folder.display())))?;
        if let Some(bytes) = directory.file.hosts[host].disk_bytes {
            mount_disk(&folder, bytes).map_err(io_error(format!("make a disk for {name}")))?;
        }
        let fill = |template: &_| {
            let filled = directory.fill(template, &at.placed, Some(&folder));
            filled.map_err(|source| SystemError::Fill {
                instance: name.clone(),
                source,
            })
        };
        for (file, template) in &of.files {
            let path = folder.join(file);
            write_private(&path, &fill(template)?)
                .map_err(io_error(format!("write {}", path.display())))?;
        }
        let (prepare, command) = match &of.part {
            Part::Command(words) => {
                let words: Result<Vec<String>, SystemError> = words.iter().map(&fill).collect();
                (Vec::new(), own_program(words?))
            }
            Part::Package { options, .. } => {
                let options: Result<Vec<String>, SystemError> = options.iter().map(&fill).collect();
                let commands = self.piece(service, host, &folder, &options?);
                let commands = commands.map_err(io_error(format!("write files of {name}")))?;
                (commands.prepare, commands.command)
            }
        };
        let environment: Result<Vec<(String, String)>, SystemError> = of
            .environment
            .iter()
            .map(|(name, template)| Ok((name.clone(), fill(template)?)))
            .collect();
        let mut environment = environment?;
        environment.insert(0, ("PATH".to_owned(), pieces::path()));
        environment.push((
            shortage::SKEW_VARIABLE.to_owned(),
            shortage::skew_file(&folder).display().to_string(),
        ));
        environment.push((
            clock::VARIABLE.to_owned(),
            Dilation::of_process().to_string(),
        ));
        Ok(Launch {
            log: self.folder.log(&name),
            joins: at.group.as_ref().map(Group::joins).unwrap_or_default(),
            address: at.placed.address,
            ready: of.ready.clone(),
            restarts: of.restarts,
            stop_signal: of.stop_signal,
            name,
            prepare,
            command,
            environment,
            folder,
        })
    }

    /// How a server of a package is started.
    fn piece(
        &self,
        service: usize,
        host: usize,
        folder: &Path,
        options: &[String],
    ) -> io::Result<Commands> {
        let directory = &self.directory;
        let services = &directory.file.services;
        let Part::Package {
            package,
            replica_of,
            ..
        } = &services[service].part
        else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let master = replica_of.map(|master| {
            let master = &services[master];
            let address = directory.placed[master.hosts[0]].address;
            (address, master.port.unwrap_or_default())
        });
        let is_followed = services.iter().any(|other| {
            matches!(&other.part, Part::Package { replica_of: Some(of), .. } if *of == service)
        });
        let piece = Piece {
            package: *package,
            folder,
            address: directory.placed[host].address,
            port: services[service].port.unwrap_or_default(),
            password: &directory.password,
            options,
            master,
            number: host,
            is_followed,
        };
        piece.commands()
    }

    /// Instances of a service and their directories.
    pub(crate) fn instances<'a>(
        &'a self,
        of: &'a Instances,
    ) -> impl Iterator<Item = (&'a Instance, PathBuf)> {
        let meant =
            |running: &&Running| running.service == of.service && of.hosts.contains(&running.host);
        let running = self.running.iter().filter(meant);
        running.map(|running| {
            let instance = &running.instance;
            (instance, self.folder.data(&instance.name))
        })
    }

    /// A host by its name.
    pub(crate) fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.placed.name == name)
    }

    /// Counts again from zero what the network does.
    pub(crate) fn reset_network(&self) -> Result<(), SystemError> {
        self.dropped_before.store(self.dropped(), Ordering::Relaxed);
        Ok(self.forwarder.reset_counts()?)
    }

    /// Packets that hosts sent and the network was too slow to read, since the hosts were made.
    fn dropped(&self) -> u64 {
        let all = self.hosts.iter().map(|host| host.namespace.dropped());
        all.filter_map(Result::ok).sum()
    }

    /// The network of a region's users.
    pub(crate) fn namespace_of_crowd(&self, region: usize) -> &Namespace {
        &self.hosts[self.directory.file.hosts.len() + region].namespace
    }

    /// Names of all hosts.
    pub(crate) fn host_names(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|host| host.placed.name.as_str())
    }

    /// Values for the lab's run, as they are for the host that conducts it.
    fn values(&self, of: &[(String, Template)]) -> Result<BTreeMap<String, String>, SystemError> {
        let control = &self.hosts[self.hosts.len() - 1].placed;
        let values = of.iter().map(|(key, template)| {
            let filled = self.directory.fill(template, control, None);
            let filled = filled.map_err(|source| SystemError::Fill {
                instance: key.clone(),
                source,
            })?;
            Ok((key.clone(), filled))
        });
        values.collect()
    }

    pub(crate) fn status(&self, faults: Vec<(u32, String)>) -> Result<Status, SystemError> {
        let file = &self.directory.file;
        let run = file.run.as_ref();
        let (sets, environment) =
            run.map_or((&[][..], &[][..]), |run| (&run.sets, &run.environment));
        let counts = self.forwarder.counts()?;
        let total = counts.total();
        let dilation = Dilation::of_process();
        let hosts = self.hosts.iter().map(|host| HostStatus {
            name: host.placed.name.clone(),
            region: match file.regions.get(usize::from(host.placed.place)) {
                Some(region) => region.clone(),
                None => crate::file::CONTROL.to_owned(),
            },
            address: host.placed.address,
            namespace: self.folder.namespace(&host.placed.name),
            cpus: host.placed.cpus,
            cpu_s: host
                .group
                .as_ref()
                .and_then(Group::cpu_ns)
                .map(|ns| ns as f64 / 1e9),
            memory_bytes: host.group.as_ref().and_then(Group::memory_bytes),
            price: file
                .hosts
                .iter()
                .find(|written| written.name == host.placed.name)
                .and_then(|written| Some(written.price.as_ref()?.name.clone())),
        });
        let instances = self.running.iter().map(|running| {
            let seen = running.instance.seen().get();
            InstanceStatus {
                name: running.instance.name.clone(),
                host: file.hosts[running.host].name.clone(),
                state: seen.state,
                pid: seen.pid,
                restarts: seen.restarts,
            }
        });
        Ok(Status {
            lab: file.name.clone(),
            dilation: file.dilation,
            file: self.source.display().to_string(),
            up_since_unix_ns: self.since_unix_ns,
            regions: file.regions.clone(),
            hosts: hosts.collect(),
            instances: instances.collect(),
            sets: self.values(sets)?,
            environment: self.values(environment)?,
            network: NetworkStatus {
                packets: total.packets,
                lost: total.lost + total.queue_full + total.cut,
                overflow: total.overflow
                    + counts.refused
                    + self
                        .dropped()
                        .saturating_sub(self.dropped_before.load(Ordering::Relaxed)),
                late_p99_ns: dilation.shrink_ns(counts.lateness.quantile(0.99)),
                late_max_ns: dilation.shrink_ns(counts.lateness.max()),
                cpu_s: counts.cpu.as_secs_f64(),
            },
            faults,
        })
    }
}

/// Instances end in the reverse order of their starts.
impl Drop for System {
    fn drop(&mut self) {
        while let Some(running) = self.running.pop() {
            drop(running);
        }
    }
}

/// Namespaces and control groups of all hosts, and their ends in the network.
fn make_hosts(
    file: &LabFile,
    placed: Vec<Placed>,
    folder: &Folder,
    progress: &mut dyn FnMut(String),
) -> Result<(Vec<Host>, Vec<Port>), SystemError> {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    let mut without_groups = None;
    for placed in placed {
        let (namespace, tun) = Namespace::create(placed.address, MTU)?;
        set_up(&namespace, &folder.namespace(&placed.name))
            .map_err(io_error(format!("set up the host {}", placed.name)))?;
        ports.push(Port {
            address: placed.address,
            place: placed.place,
            tun,
        });
        let limits = GroupLimits {
            // In the machine's time a slower host does less.
            cpus: placed.cpus.map(|cpus| cpus / f64::from(file.dilation)),
            memory_bytes: placed.memory_bytes,
        };
        let name = format!("{GROUP_PREFIX}{}-{}", file.name, placed.name);
        let group = match Group::create(&name, limits) {
            Ok(group) => Some(group),
            Err(error) => {
                without_groups = Some(error);
                None
            }
        };
        hosts.push(Host {
            placed,
            namespace: Arc::new(namespace),
            group,
        });
    }
    if let Some(error) = without_groups {
        progress(format!(
            "control groups cannot be written ({error}): `cpus` and `memory` do not limit, and hosts' CPU time is not counted"
        ));
    }
    Ok((hosts, ports))
}

/// Makes a directory a disk of its own, in memory, which only the lab's processes see.
fn mount_disk(folder: &Path, bytes: u64) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    // Databases run as users of their own, which have to pass through.
    let options = CString::new(format!("size={bytes},mode=711"))?;
    mount("tmpfs", folder, "tmpfs", flags, options.as_c_str())?;
    Ok(())
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

fn start_names(hosts: &[Host], directory: &Arc<Directory>) -> Result<NameServers, SystemError> {
    let at = hosts
        .iter()
        .map(|host| (Arc::clone(&host.namespace), usize::from(host.placed.place)));
    let at: Vec<_> = at.collect();
    let directory = Arc::clone(directory);
    let resolve: Arc<Resolve> = Arc::new(move |name, region| directory.resolve(name, region));
    NameServers::start(&at, &resolve).map_err(io_error("start a name server"))
}

/// `throng` is this program, wherever it is.
fn own_program(mut words: Vec<String>) -> Vec<String> {
    let is_own = words.first().is_some_and(|word| word == "throng");
    if let (true, Ok(path)) = (is_own, std::env::current_exe()) {
        words[0] = path.display().to_string();
    }
    words
}

/// A file that others may not read, unless they are the service's own user.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::File::options();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    io::Write::write_all(&mut &file, text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

/// What resolvers on all hosts read.
pub(crate) fn resolver_file() -> String {
    format!(
        "nameserver {}\noptions timeout:2 attempts:2\n",
        dns::ADDRESS
    )
}

/// What is missing for a lab's services: programs, with Debian's names of their packages.
pub fn missing_programs(file: &LabFile) -> Vec<(String, usize, String)> {
    let mut missing = Vec::new();
    for service in &file.services {
        match &service.part {
            Part::Package { package, .. } => {
                if let Some((program, debian)) = pieces::missing(*package) {
                    let hint = format!("on Debian, `sudo apt-get install {debian}`");
                    missing.push((program.to_owned(), service.line, hint));
                }
            }
            Part::Command(words) => {
                let first = words.first().and_then(|word| word.fill(|_| Err(())).ok());
                let known = |word: &String| word == "throng" || pieces::program(word).is_some();
                if let Some(word) = first.filter(|word| !known(word)) {
                    missing.push((
                        word,
                        service.line,
                        "install it, or write its path".to_owned(),
                    ));
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
