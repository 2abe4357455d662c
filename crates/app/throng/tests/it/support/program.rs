//! The program as a process of its own, and what it said.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use testkit::needs::root;

/// A process that prints nothing for this long hangs.
const TIMEOUT: Duration = Duration::from_secs(40);

/// The program with these arguments.
pub(crate) fn throng<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = plain(Command::new(env!("CARGO_BIN_EXE_throng")));
    command.args(args);
    command
}

/// Clears environment variables that could change the output, and closes standard input.
pub(crate) fn plain(mut command: Command) -> Command {
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null());
    command
}

/// The command with a limit on open files.
pub(crate) fn with_files(max: u32, command: &Command) -> Command {
    let mut limited = plain(Command::new("sh"));
    limited.args(["-c", &format!("ulimit -n {max} && exec \"$0\" \"$@\"")]);
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

/// The command with the seccomp filter of a container: `unshare` is refused.
pub(crate) fn without_unshare(mut command: Command) -> Command {
    /// What the kernel calls `struct sock_filter` and `struct sock_fprog`.
    const fn step(code: u32, if_so: u8, if_not: u8, k: u32) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt: if_so, jf: if_not, k }
    }
    let refuse = || {
        let mut steps = [
            // The number of the system call.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_unshare as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        #[expect(unsafe_code, reason = "filters are set by a raw system call")]
        // SAFETY: the kernel copies the filter, which outlives the call.
        let set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
                    &raw const program,
                ) == 0
        };
        match set {
            true => Ok(()),
            false => Err(std::io::Error::last_os_error()),
        }
    };
    #[expect(unsafe_code, reason = "the filter is to hold for the child only")]
    // SAFETY: between fork and exec it makes system calls only.
    unsafe {
        command.pre_exec(refuse);
    }
    command
}

/// A running process. It is killed if the test ends first.
pub(crate) struct Running {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
    printed: String,
    /// Lines of standard error that `end` returns with those that follow.
    said: String,
}

/// The output and exit code of a finished process.
pub(crate) struct Ended {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Running {
    /// Starts the command; standard input is as configured.
    pub(crate) fn start(command: &mut Command) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let out = lines(child.stdout.take().unwrap());
        let err = lines(child.stderr.take().unwrap());
        Running { child, out, err, printed: String::new(), said: String::new() }
    }

    /// The next line of standard output.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        match self.out.recv_timeout(TIMEOUT) {
            Ok(line) => {
                self.printed += &line;
                line
            }
            Err(error) => {
                let printed = std::mem::take(&mut self.printed);
                let err: String = self.err.try_iter().collect();
                panic!("no further line ({error}) after:\n{printed}{err}");
            }
        }
    }

    /// The next line of standard output, unless the program ended before it.
    #[track_caller]
    pub(crate) fn line_unless_ended(&mut self) -> Option<String> {
        match self.out.recv_timeout(TIMEOUT) {
            Err(RecvTimeoutError::Disconnected) => None,
            line => Some(line.unwrap()),
        }
    }

    /// The next line of standard error; `end` does not return it again.
    #[track_caller]
    pub(crate) fn stderr_line(&mut self) -> String {
        let line = self.err.recv_timeout(TIMEOUT);
        line.unwrap_or_else(|error| panic!("no further line ({error})"))
    }

    /// The next line of standard error, as a part of the progress of runs; `end` returns it again.
    #[track_caller]
    pub(crate) fn progress(&mut self) -> String {
        let line = self.stderr_line();
        self.said += &line;
        line
    }

    /// Waits until a run in progress has printed a second, `   0:05  ramp  users …`, and continues.
    #[track_caller]
    pub(crate) fn second(&mut self) {
        let is_second = |line: &str| {
            let clock = line.split_whitespace().next().and_then(|word| word.split_once(':'));
            clock.is_some_and(|(minutes, seconds)| {
                minutes.parse::<u32>().is_ok()
                    && seconds.len() == 2
                    && seconds.parse::<u32>().is_ok()
            })
        };
        while !is_second(&self.progress()) {}
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process ids of its children.
    pub(crate) fn children(&self) -> Vec<Pid> {
        let parent = self.pid().to_string();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let children = entries.filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // Behind its name, which may hold anything: its state, its parent.
            let (_, fields) = stat.rsplit_once(')')?;
            let is_child = fields.split_whitespace().nth(1)? == parent;
            is_child.then(|| Pid::from_raw(pid))?
        });
        children.collect()
    }

    /// Kills the only process that it has started.
    #[track_caller]
    pub(crate) fn kill_child(&self) {
        let children = self.children();
        assert_eq!(children.len(), 1, "not one child");
        kill_process(children[0], Signal::KILL).unwrap();
    }

    /// Kills the processes that it has started, if they run.
    pub(crate) fn kill_children(&self) {
        for child in self.children() {
            let _ = kill_process(child, Signal::KILL);
        }
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        // It may have ended by itself just now.
        let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Closes standard input and waits until the process exits.
    pub(crate) fn release(&mut self) {
        drop(self.child.stdin.take());
        self.ends_within(TIMEOUT);
    }

    /// True if it exits before it has printed nothing for `time`.
    pub(crate) fn ends_within(&mut self, time: Duration) -> bool {
        loop {
            match self.out.recv_timeout(time) {
                Ok(line) => self.printed += &line,
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => {
                    let before = self.said.len();
                    self.said.extend(self.err.try_iter());
                    // What reports its progress is not silent.
                    if self.said.len() == before {
                        return false;
                    }
                }
            }
        }
    }

    /// Waits until the process and its children have exited: standard error is open until then.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        if !self.ends_within(TIMEOUT) {
            panic!("still running after {TIMEOUT:?} of silence; output:\n{}", self.printed);
        }
        let mut err = std::mem::take(&mut self.said);
        loop {
            match self.err.recv_timeout(TIMEOUT) {
                Ok(line) => err += &line,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("a child process is still running:\n{err}")
                }
            }
        }
        let status = self.child.wait().unwrap();
        Ended { code: status.code(), out: std::mem::take(&mut self.printed), err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Most have ended by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The stream's lines with their ends, read by a thread so that the other end never blocks.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            // A test that failed listens no more, but the process may still want to speak.
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            line.clear();
        }
    });
    receiver
}

impl Ended {
    /// Runs the command to its end.
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Ended {
        Running::start(command).end()
    }

    /// Insists on an exit code.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Ended {
        let Ended { code: found, out, err } = &self;
        assert!(*found == Some(code), "exit code {found:?}, expected {code}\n{out}{err}");
        self
    }

    /// Insists that this was said on standard error. Where lines were broken does not matter.
    #[track_caller]
    pub(crate) fn stderr_contains(&self, wanted: &str) -> &Ended {
        assert!(flat(&self.err).contains(wanted), "{wanted:?} was not printed:\n{}", self.err);
        self
    }

    /// The same of standard output.
    #[track_caller]
    pub(crate) fn stdout_contains(&self, wanted: &str) -> &Ended {
        let Ended { out, err, .. } = self;
        assert!(flat(out).contains(wanted), "{wanted:?} is not on standard output:\n{out}{err}");
        self
    }
}

/// The text without line breaks and the frames that miette draws around them.
pub(crate) fn flat(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| !matches!(*word, "│" | "╰─▶" | "├─▶"));
    words.collect::<Vec<_>>().join(" ")
}

/// A server that says where it listens, such as a built-in system under `throng serve`; it stops with the test.
pub(crate) struct Served {
    running: Running,
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
}

impl Served {
    /// `throng serve` with these arguments on a free port.
    #[track_caller]
    pub(crate) fn start(args: &[&str]) -> Served {
        let mut command = throng(["serve"].iter().chain(args));
        command.args(["--listen", "127.0.0.1:0", "--until-stdin-closes"]);
        Served::of(&mut command)
    }

    /// A script of Python's in the workspace that serves as `throng serve` does, on a free port.
    #[track_caller]
    pub(crate) fn script(path: &str) -> Served {
        let mut command = plain(Command::new("python3"));
        command.arg(root().join(path)).args(["--port", "0", "--until-stdin-closes"]);
        Served::of(&mut command)
    }

    #[track_caller]
    fn of(command: &mut Command) -> Served {
        let mut running = Running::start(command.stdin(Stdio::piped()));
        let line = running.line();
        let url = line.trim_end().strip_prefix("listening on ");
        let url = url.unwrap_or_else(|| panic!("not where it listens: {line}")).to_owned();
        Served { running, url }
    }

    /// The process ids of its children.
    pub(crate) fn children(&self) -> Vec<Pid> {
        self.running.children()
    }

    /// Ends it with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.running.kill();
    }

    /// Stops it in good order, so that what it has still to do is done.
    #[track_caller]
    pub(crate) fn stop(mut self) {
        self.running.release();
    }
}
