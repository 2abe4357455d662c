//! The hosts that instances run on, and how each instance is started and ended.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::wan::Namespace;
use machine::clock::{self, Dilation};
use machine::group::Group;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::directory::Directory;
use crate::error::{SystemError, io_error};
use crate::events::Events;
use crate::file::{Instances, Program};
use crate::folder::Folder;
use crate::instance::{Instance, Launch, in_groups};
use crate::layout::{HostPlan, nearest};
use crate::pieces::{self, Commands, Piece};
use crate::shortage;

/// A host at work.
pub(crate) struct Host {
    pub(crate) plan: HostPlan,
    pub(crate) namespace: Arc<Namespace>,
    /// `None`: nothing limits or counts what runs on it.
    pub(crate) group: Option<Group>,
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
pub(crate) struct RunningInstance {
    pub(crate) service: usize,
    pub(crate) host: usize,
    pub(crate) instance: Instance,
}

/// The hosts of a lab and the instances on them.
pub(crate) struct Site {
    /// Those of the file come first, by their numbers.
    pub(crate) hosts: Vec<Host>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) events: Arc<Events>,
    pub(crate) folder: Folder,
    /// In the order of their starts.
    running: Mutex<Vec<RunningInstance>>,
}

impl Site {
    pub(crate) fn new(
        hosts: Vec<Host>,
        directory: Arc<Directory>,
        events: Arc<Events>,
        folder: Folder,
    ) -> Site {
        Site { hosts, directory, events, folder, running: Mutex::new(Vec::new()) }
    }

    /// All instances that have been ready.
    pub(crate) fn running(&self) -> MutexGuard<'_, Vec<RunningInstance>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts an instance, which may take `end_max` to end, and waits until it is ready. One that does not get ready
    /// leaves nothing behind: the next would find its files, below a disk of its own.
    pub(crate) fn start(
        &self,
        service: usize,
        host: usize,
        end_max: Duration,
    ) -> Result<(), SystemError> {
        let instance = self
            .start_instance(service, host, end_max)
            .inspect_err(|_| self.clear(service, host))?;
        self.events.add(format!("{} is ready", instance.name));
        self.directory.add(service, host, instance.seen());
        self.running().push(RunningInstance { service, host, instance });
        Ok(())
    }

    fn start_instance(
        &self,
        service: usize,
        host: usize,
        end_max: Duration,
    ) -> Result<Instance, SystemError> {
        let launch = self.launch(service, host, end_max)?;
        let namespace = Arc::clone(&self.hosts[host].namespace);
        Ok(Instance::start(launch, namespace, Arc::clone(&self.events))?)
    }

    /// Ends an instance in good order, and waits until it has ended. Nobody is sent to it from now on.
    pub(crate) fn end(&self, service: usize, host: usize) {
        self.directory.remove(service, host);
        let ended = {
            let mut running = self.running();
            let at = running
                .iter()
                .position(|running| (running.service, running.host) == (service, host));
            at.map(|at| running.remove(at))
        };
        drop(ended);
        self.clear(service, host);
    }

    /// The next machine here is a new one, as far as what the last one has left can be removed.
    fn clear(&self, service: usize, host: usize) {
        let folder = self.folder.data(&self.directory.instance(service, host));
        if self.directory.file.hosts[host].disk_bytes.is_some() {
            let _ = unmount(&folder, UnmountFlags::DETACH);
        }
        let _ = fs::remove_dir_all(&folder);
    }

    /// Does something to instances of a service; each comes with its directory.
    pub(crate) fn each(&self, of: &Instances, mut what: impl FnMut(&Instance, PathBuf)) {
        let meant = |running: &&RunningInstance| {
            running.service == of.service && of.hosts.contains(&running.host)
        };
        for running in self.running().iter().filter(meant) {
            let instance = &running.instance;
            what(instance, self.folder.data(&instance.name));
        }
    }

    /// How an instance is started.
    fn launch(
        &self,
        service: usize,
        host: usize,
        end_max: Duration,
    ) -> Result<Launch, SystemError> {
        let directory = &self.directory;
        let name = directory.instance(service, host);
        let of = &directory.file.services[service];
        let at = &self.hosts[host];
        let folder = self.folder.data(&name);
        fs::create_dir_all(&folder).map_err(io_error(format!("make {}", folder.display())))?;
        if let Some(bytes) = directory.file.hosts[host].disk_bytes {
            mount_disk(&folder, bytes).map_err(io_error(format!("make a disk for {name}")))?;
        }
        let fill = |template: &_| {
            let filled = directory.fill(template, &at.plan, Some(&folder));
            filled.map_err(|source| SystemError::Fill { instance: name.clone(), source })
        };
        for (file, template) in &of.files {
            let path = folder.join(file);
            write_private(&path, &fill(template)?)
                .map_err(io_error(format!("write {}", path.display())))?;
        }
        let (prepare, command) = match &of.program {
            Program::Command(words) => {
                let words: Result<Vec<String>, SystemError> = words.iter().map(&fill).collect();
                (Vec::new(), own_program(words?))
            }
            Program::Package { options, .. } => {
                let options: Result<Vec<String>, SystemError> = options.iter().map(&fill).collect();
                let commands = self.piece(service, host, &folder, &options?);
                let commands = commands.map_err(io_error(format!("write files of {name}")))?;
                (commands.prepare, commands.command)
            }
        };
        let environment: Result<Vec<(String, String)>, SystemError> = of
            .environment
            .iter()
            .map(|variable| {
                let value = variable.value_in(usize::from(at.plan.place));
                Ok((variable.name.clone(), fill(value)?))
            })
            .collect();
        let mut environment = environment?;
        environment.insert(0, ("PATH".to_owned(), pieces::path()));
        environment.push((
            shortage::SKEW_VARIABLE.to_owned(),
            shortage::skew_file(&folder).display().to_string(),
        ));
        environment.push((clock::VARIABLE.to_owned(), Dilation::of_process().to_string()));
        Ok(Launch {
            log: self.folder.log(&name),
            joins: at.group.as_ref().map(Group::joins).unwrap_or_default(),
            address: at.plan.address,
            ready: of.ready.clone(),
            restarts: of.restarts,
            stop_signal: of.stop_signal,
            end_max,
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
        let Program::Package { package, replica_of, .. } = &services[service].program else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let master = replica_of.map(|master| {
            let of = &services[master];
            // Of several replicas that may be followed, the nearest.
            let place = usize::from(directory.plans[host].place);
            let nearest = nearest(&directory.file, place, &of.hosts).unwrap_or(of.hosts[0]);
            (directory.plans[nearest].address, of.port.unwrap_or_default())
        });
        let is_followed = services.iter().any(|other| {
            matches!(&other.program, Program::Package { replica_of: Some(of), .. } if *of == service)
        });
        let piece = Piece {
            package: *package,
            folder,
            address: directory.plans[host].address,
            port: services[service].port.unwrap_or_default(),
            password: &directory.password,
            options,
            master,
            number: host,
            is_followed,
        };
        piece.commands()
    }
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
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut &file, text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

/// Makes a directory a disk of its own, in memory, which only the lab's processes see.
fn mount_disk(folder: &Path, bytes: u64) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    // Databases run as users of their own, which have to pass through.
    let options = CString::new(format!("size={bytes},mode=711"))?;
    mount("tmpfs", folder, "tmpfs", flags, options.as_c_str())?;
    Ok(())
}
