//! How a lab comes up: processes with a view of their own.
//!
//! The first process of a lab is the first of a process namespace: when it ends, however it ends, the kernel ends all
//! others in it, and with them the network namespaces that only their descriptors keep. So nothing is left behind but
//! empty control groups and the lab's directory, which the next `up` or `down` removes. The lab of a run ends in the same
//! way with the process that began it: its first process reads from a pipe whose other end that process alone has, and
//! which the kernel closes however it ends. (`PR_SET_PDEATHSIG` would look at the thread, which ends at once.)

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use machine::clock::Dilation;
use machine::group::remove_groups;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Signal, WaitOptions};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use scenario::document::Source;
use serde::{Deserialize, Serialize};

use crate::client::{Client, ClientError};
use crate::clock::{now, rest};
use crate::control::{Control, write_line};
use crate::file::{LabFile, lab};
use crate::folder::{Folder, Lock};
use crate::instance::send;
use crate::message::Reply;
use crate::system::{System, group_prefix, resolver_file};

/// The lab's file, as it was when the lab came up.
const FILE: &str = "lab.yaml";
/// Time dilation of the lab.
const DILATION: &str = "dilation";
/// Path that the lab's file was read from.
const SOURCE: &str = "source";
/// Output of the lab's own processes.
const LOG: &str = "lab.log";
const RESOLVER: &str = "/etc/resolv.conf";
/// How long a lab may take to end in good order.
const DOWN_MAX: Duration = Duration::from_secs(60);
/// How long the kernel may take to end the processes of a lab that was killed.
const KILLED_MAX: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// Why a lab does not come up, or does not end.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A lab of this name is up.
    #[error("a lab `{0}` is up already")]
    Taken(String),
    /// Namespaces may not be made.
    #[error(
        "a lab needs namespaces, which this user may not make: run it as root, or allow user namespaces"
    )]
    NotPermitted(#[source] io::Error),
    /// A file or a system call.
    #[error("cannot {what}")]
    Io {
        /// The attempted action.
        what: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It said why.
    #[error("the lab did not come up: {0}")]
    Failed(String),
    /// It did not end.
    #[error("the lab does not end")]
    Stays,
}

fn io_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> LaunchError {
    let what = what.into();
    move |source| LaunchError::Io { what, source }
}

/// How long a lab stays up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// Until `down`.
    UntilDown,
    /// Until `down`, or until the process that brought it up has ended, however it did.
    WithCaller,
}

/// A lab that has come up.
#[derive(Debug)]
pub struct LaunchedLab {
    /// The directory of the lab.
    pub folder: Folder,
    /// The pipe whose end ends the lab.
    _input: Option<ChildStdin>,
}

/// Progress of a lab that comes up, printed as one JSON object a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Progress {
    /// Description of the next step.
    Step(String),
    /// It is up.
    Up,
    /// It is not.
    Failed(String),
}

/// Brings a lab up: `program lab keep FOLDER` is started in namespaces of its own. `text` is the lab's file, `source`
/// where it is; `progress` is called with each step.
///
/// # Errors
/// The lab is up already, may not be made, or a part of it does not start; nothing is left of it then.
pub fn up(
    file: &LabFile,
    text: &str,
    source: &Path,
    program: &Path,
    stay: Stay,
    progress: &mut dyn FnMut(&str),
) -> Result<LaunchedLab, LaunchError> {
    let folder = Folder::by_name(&file.name);
    make_room(&file.name, &folder)?;
    folder.create().map_err(io_error(format!("make {}", folder.path().display())))?;
    let inside = |name: &str| folder.path().join(name);
    let written = fs::write(inside(FILE), text)
        .and_then(|()| fs::write(inside(DILATION), file.dilation.to_string()))
        .and_then(|()| fs::write(inside(SOURCE), source.display().to_string()))
        .and_then(|()| fs::write(inside("resolv.conf"), resolver_file()));
    written.map_err(io_error("write the lab's directory"))?;
    let log = fs::File::create(inside(LOG)).map_err(io_error("write the lab's log"))?;
    let mut command = Command::new(program);
    command.args(["lab", "keep"]);
    let input = match stay {
        Stay::UntilDown => Stdio::null(),
        Stay::WithCaller => {
            command.arg("--with-input");
            Stdio::piped()
        }
    };
    command
        .arg(folder.path())
        .current_dir("/")
        .process_group(0)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(log);
    let mut child = spawn_apart(&mut command)?;
    fs::write(folder.pid(), child.id().to_string())
        .map_err(io_error("write the lab's directory"))?;
    match await_up(&mut child, progress) {
        Ok(()) => Ok(LaunchedLab { folder, _input: child.stdin.take() }),
        Err(why) => {
            let _ = child.kill();
            let _ = child.wait();
            let log = fs::read_to_string(inside(LOG)).unwrap_or_default();
            clean(&file.name)?;
            let why = why.unwrap_or_else(|| format!("its process ended: {}", log.trim()));
            Err(LaunchError::Failed(why))
        }
    }
}

/// Removes what a lab of this name has left, and waits a moment for one that was just killed.
fn make_room(name: &str, folder: &Folder) -> Result<(), LaunchError> {
    let limit = now() + KILLED_MAX;
    while clean(name)?.is_none() {
        if Client::connect(folder).is_ok() || now() > limit {
            return Err(LaunchError::Taken(name.to_owned()));
        }
        rest(POLL);
    }
    Ok(())
}

/// Starts a process as the first of a process namespace, with a tree of mounts of its own.
fn spawn_apart(command: &mut Command) -> Result<Child, LaunchError> {
    let flags = UnshareFlags::NEWPID | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    thread::scope(|scope| {
        let spawned = scope.spawn(|| {
            #[expect(unsafe_code, reason = "only leaving the file table can break Rust's rules")]
            // SAFETY: the file table stays shared; mounts and children of this thread, which ends here, are others.
            unsafe { unshare_unsafe(flags) }
                .map_err(|error| LaunchError::NotPermitted(error.into()))?;
            command.spawn().map_err(io_error("start the lab's process"))
        });
        spawned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Reads what the lab says until it is up; an error has why it is not, if it said so.
fn await_up(child: &mut Child, progress: &mut dyn FnMut(&str)) -> Result<(), Option<String>> {
    let output = child.stdout.take().ok_or(None)?;
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Progress::Step(text)) => progress(&text),
            Ok(Progress::Up) => return Ok(()),
            Ok(Progress::Failed(why)) => return Err(Some(why)),
            Err(_) => {}
        }
    }
    Err(None)
}

/// Ends a lab, in good order if it still listens; false: there was none.
///
/// # Errors
/// It does not end, or what it left cannot be removed.
pub fn down(name: &str) -> Result<bool, LaunchError> {
    let folder = Folder::by_name(name);
    if !folder.path().exists() {
        return Ok(false);
    }
    let ended = Client::connect(&folder).and_then(Client::down);
    if let Err(ClientError::NotUp(_) | ClientError::Gone(_)) = ended {
        kill(&folder);
    }
    let limit = now() + DOWN_MAX;
    while clean(name)?.is_none() {
        if now() > limit {
            kill(&folder);
            return Err(LaunchError::Stays);
        }
        rest(POLL);
    }
    Ok(true)
}

/// Kills the first process of a lab, and with it all others. The lock says that it is that process still.
fn kill(folder: &Folder) {
    let Ok(None) = folder.lock() else { return };
    let pid = fs::read_to_string(folder.pid());
    if let Some(pid) = pid.ok().and_then(|text| text.trim().parse().ok()) {
        send(pid, Signal::KILL);
    }
}

/// Removes what a lab that was killed has left; `None`: it is up.
fn clean(name: &str) -> Result<Option<()>, LaunchError> {
    let folder = Folder::by_name(name);
    if !folder.path().exists() {
        return Ok(Some(()));
    }
    let lock = folder.lock().map_err(io_error("lock the lab's directory"))?;
    if lock.is_none() {
        return Ok(None);
    }
    remove_groups(&group_prefix(name));
    folder.remove().map_err(io_error(format!("remove {}", folder.path().display())))?;
    Ok(Some(()))
}

/// The first process of a lab: gives the others their view of the machine, and reaps whom nobody else does.
///
/// # Errors
/// A mount is refused, or the process that keeps the lab cannot be started.
pub fn first_process(folder: &Path, program: &Path, stay: Stay) -> Result<i32, LaunchError> {
    if stay == Stay::WithCaller {
        let watch = thread::Builder::new().spawn(end_with_input);
        watch.map_err(io_error("watch the process that began the lab"))?;
    }
    let failed = |what: &'static str| move |error: rustix::io::Errno| io_error(what)(error.into());
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(failed("make mounts private"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(failed("mount /proc"))?;
    if Path::new(RESOLVER).exists() {
        mount_bind(folder.join("resolv.conf"), RESOLVER)
            .map_err(failed("replace /etc/resolv.conf"))?;
    }
    let mut keeper = Command::new(program);
    keeper.args(["lab", "keep", "--inner"]).arg(folder).stdin(Stdio::null());
    let keeper = keeper.spawn().map_err(io_error("start the lab's process"))?;
    loop {
        // Also children of processes that have ended: the first process inherits them.
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().unsigned_abs() == keeper.id() => {
                return Ok(status.exit_status().unwrap_or(1));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io_error("wait for the lab's process")(error.into())),
        }
    }
}

/// Ends this process, and so the lab, when nobody has the other end of standard input any more.
fn end_with_input() {
    // Nothing is ever written to it, and an error is an end as well.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    std::process::exit(1)
}

/// The process that keeps a lab: makes it, answers its callers, and ends it.
///
/// # Errors
/// The lab cannot be made; whoever started it knows why.
pub fn keep(folder: &Path) -> Result<(), LaunchError> {
    let folder = Folder::at(folder);
    let made = make(&folder);
    let (control, listener, _lock) = match made {
        Ok(made) => made,
        Err(error) => {
            say(&Progress::Failed(error.clone()));
            return Err(LaunchError::Failed(error));
        }
    };
    say(&Progress::Up);
    let caller = control.serve(&listener);
    // All has ended: the lab was dropped with `control`.
    if let Some(caller) = caller {
        let _ = write_line(&caller, &Reply::Done);
    }
    Ok(())
}

fn make(folder: &Folder) -> Result<(Control, UnixListener, Lock), String> {
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).map_err(|e| e.to_string());
    let lock = folder.lock().map_err(|error| error.to_string())?;
    let lock = lock.ok_or("another lab has taken its directory")?;
    let text = read(FILE)?;
    let source = read(SOURCE)?;
    let (file, _) = lab(Source { name: FILE, text: &text });
    let file = file.ok_or("its file has changed")?;
    let factor = read(DILATION)?.parse().map_err(|_| "its dilation has changed")?;
    let file = file.dilated(factor)?;
    // From here on the lab's time passes.
    let dilation = Dilation::from_now(factor).map_err(|error| error.to_string())?;
    dilation.settle();
    let mut progress = |text| say(&Progress::Step(text));
    let system = System::start(file, &PathBuf::from(source), folder, &mut progress);
    let system = system.map_err(|error| with_causes(&error))?;
    let listener = UnixListener::bind(folder.socket()).map_err(|error| error.to_string())?;
    Ok((Control::new(system), listener, lock))
}

/// To whoever started the lab; that process may have gone.
fn say(progress: &Progress) {
    if let Ok(line) = serde_json::to_string(progress) {
        let _ = writeln!(io::stdout(), "{line}");
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
