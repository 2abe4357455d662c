//! The socket of a lab: answers its callers, runs their commands on hosts, and lets faults happen by time.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use machine::clock::{Dilation, VARIABLE, unix_ns};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use rustix::process::Signal;

use crate::clock::{now, rest};
use crate::error::SystemError;
use crate::faults::Faults;
use crate::file::{TimedFault, fault, scaling};
use crate::instance::send;
use crate::message::{LINE_BYTES_MAX, Reply, Request};
use crate::system::System;

/// How often a command that runs is looked at.
const POLL: Duration = Duration::from_millis(10);
/// How often an event or a fault that is due is looked for.
const EVENT_POLL: Duration = Duration::from_millis(50);
/// How long a caller may take for its first message.
const FIRST_MAX: Duration = Duration::from_secs(10);
/// How long callers that are being answered may hold up the lab's end.
const CALLERS_MAX: Duration = Duration::from_secs(5);
/// Most datagrams of a calibration between two regions: a minute.
const CALIBRATE_PACKETS_MAX: u32 = 6_000;
/// The caller's standard input, output and error.
const DESCRIPTORS: usize = 3;

/// A lab and its callers.
pub(crate) struct Control {
    pub(crate) system: System,
    faults: Faults,
    down: AtomicBool,
}

impl Control {
    pub(crate) fn new(system: System) -> Control {
        Control { system, faults: Faults::default(), down: AtomicBool::new(false) }
    }

    /// Answers callers until one of them ends the lab; returns that one's connection.
    pub(crate) fn serve(self, listener: &UnixListener) -> Option<UnixStream> {
        let control = Arc::new(self);
        let (ends, ended) = channel();
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let shared = Arc::clone(&control);
            let ends = ends.clone();
            let handled = thread::Builder::new().spawn(move || {
                if let Some(caller) = shared.handle(stream) {
                    shared.down.store(true, Ordering::Relaxed);
                    drop(shared);
                    let path = caller.local_addr().ok();
                    let _ = ends.send(caller);
                    // The listener wakes up for one more connection.
                    if let Some(path) = path.as_ref().and_then(|address| address.as_pathname()) {
                        let _ = UnixStream::connect(path);
                    }
                }
            });
            // Without a thread the connection is closed.
            drop(handled);
            if let Ok(caller) = ended.try_recv() {
                end(control);
                return Some(caller);
            }
        }
        None
    }

    /// Answers one caller; returns the connection of one that ends the lab.
    fn handle(&self, stream: UnixStream) -> Option<UnixStream> {
        stream.set_read_timeout(Some(FIRST_MAX)).ok()?;
        let (line, descriptors) = first_line(&stream).ok()?;
        stream.set_read_timeout(None).ok()?;
        let reply = match serde_json::from_str::<Request>(&line) {
            Err(error) => Reply::Refused(format!("this is no request: {error}")),
            Ok(Request::Down) => return Some(stream),
            Ok(Request::Follow { unix_ns }) => {
                self.follow(&stream, unix_ns);
                return None;
            }
            Ok(Request::Exec { host, command, environment, folder }) => {
                let caller = Caller { environment, folder: &folder };
                self.exec(&stream, &host, &command, &caller, descriptors)
            }
            Ok(Request::Status) => {
                let faults = self.faults.active(&self.system.directory.file);
                match self.system.status(faults) {
                    Ok(status) => Reply::Status(Box::new(status)),
                    Err(error) => Reply::Refused(error.to_string()),
                }
            }
            Ok(Request::Calibrate { packets }) => {
                let packets = packets.min(CALIBRATE_PACKETS_MAX);
                match crate::calibrate::measure(&self.system, packets) {
                    Ok(pairs) => Reply::Calibrated(pairs),
                    Err(error) => Reply::Refused(error.to_string()),
                }
            }
            Ok(Request::Fault(text)) => self.begin(&text),
            Ok(Request::Repair(number)) => match self.faults.end(number, &self.system) {
                Ok(true) => Reply::Done,
                Ok(false) => Reply::Refused(format!("no fault {number} is at work")),
                Err(error) => Reply::Refused(error.to_string()),
            },
            Ok(Request::Prepare { scaling }) => self.prepare(scaling.as_deref()),
            Ok(Request::Scale { service, region, count }) => {
                let set = self.system.scaler.set(&service, region.as_deref(), count);
                set.map_or_else(Reply::Refused, |()| Reply::Done)
            }
            Ok(Request::Crowd { .. }) => Reply::Refused("no events follow here".to_owned()),
            Ok(Request::Signal(_)) => Reply::Refused("no command runs here".to_owned()),
        };
        // A caller that has gone does not get the reply.
        let _ = write_line(&stream, &reply);
        None
    }

    fn begin(&self, text: &str) -> Reply {
        match fault(text, &self.system.directory.file) {
            Err(diagnostics) => {
                let first = diagnostics.first();
                Reply::Refused(first.map_or_else(String::new, |d| d.message.clone()))
            }
            Ok(fault) => match self.faults.begin(&fault, &self.system) {
                Ok(number) => Reply::Fault(number),
                Err(error) => Reply::Refused(error.to_string()),
            },
        }
    }

    /// Brings scaling groups to where a run begins.
    fn prepare(&self, own: Option<&str>) -> Reply {
        let own = own.map(|text| scaling(text, &self.system.directory.file));
        let own = match own.unwrap_or(Ok(Vec::new())) {
            Ok(own) => own,
            Err(diagnostics) => {
                let all = diagnostics.iter().map(|d| d.message.as_str());
                return Reply::Refused(all.collect::<Vec<_>>().join("; "));
            }
        };
        let prepared = self.system.scaler.prepare(&own);
        prepared.map_or_else(Reply::Refused, |()| Reply::Done)
    }

    /// Lets the file's faults happen by the time of a run, and sends all events, until the caller goes. Faults that
    /// have not ended by then do.
    fn follow(&self, stream: &UnixStream, zero_unix_ns: u64) {
        let events = self.system.events.follow();
        // What the network does from now on is the run's. An error shows when the counts are read.
        let _ = self.system.reset_network();
        let mut due = timeline(&self.system.directory.file.faults);
        let mut begun: BTreeMap<usize, u32> = BTreeMap::new();
        self.system.scaler.begin(zero_unix_ns);
        let (gone, reports) = watch(stream);
        while !gone.load(Ordering::Relaxed) && !self.down.load(Ordering::Relaxed) {
            let now_ns = unix_ns().saturating_sub(zero_unix_ns);
            while let Some((_, number, begins)) = due.pop_if(|(at_ns, ..)| *at_ns <= now_ns) {
                let happened = match begins {
                    true => self.begin_timed(number, &mut begun),
                    false => self.end_timed(number, &mut begun),
                };
                if let Err(error) = happened {
                    self.system.events.add(error.to_string());
                }
            }
            while let Ok(Request::Crowd { users, arrivals_per_s }) = reports.try_recv() {
                self.system.scaler.crowd(users, arrivals_per_s);
            }
            let sent = match events.recv_timeout(EVENT_POLL) {
                Ok(event) => write_line(stream, &Reply::Event(event)).is_ok(),
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            if !sent {
                break;
            }
        }
        for (_, number) in begun {
            if let Err(error) = self.faults.end(number, &self.system) {
                self.system.events.add(error.to_string());
            }
        }
    }

    fn begin_timed(
        &self,
        number: usize,
        begun: &mut BTreeMap<usize, u32>,
    ) -> Result<(), SystemError> {
        let fault = &self.system.directory.file.faults[number].fault;
        begun.insert(number, self.faults.begin(fault, &self.system)?);
        Ok(())
    }

    fn end_timed(
        &self,
        number: usize,
        begun: &mut BTreeMap<usize, u32>,
    ) -> Result<(), SystemError> {
        // One that cannot be undone now is tried again at the end of the run.
        if let Some(at_work) = begun.get(&number) {
            self.faults.end(*at_work, &self.system)?;
            begun.remove(&number);
        }
        Ok(())
    }

    /// Runs a command for a caller, with the caller's descriptors, until it ends or the caller goes.
    fn exec(
        &self,
        stream: &UnixStream,
        host: &str,
        words: &[String],
        caller: &Caller<'_>,
        descriptors: Vec<OwnedFd>,
    ) -> Reply {
        let Ok([input, output, error]) = <[OwnedFd; DESCRIPTORS]>::try_from(descriptors) else {
            return Reply::Refused("standard input, output and error are missing".to_owned());
        };
        let Some(at) = self.system.host(host) else {
            let names: Vec<&str> = self.system.host_names().collect();
            let hint = scenario::document::suggest::hint(host, "the hosts are", names);
            let hint = hint.unwrap_or_default();
            return Reply::Refused(format!("there is no host `{host}`: {hint}"));
        };
        let mut command = at.command(words);
        command
            .env_clear()
            .envs(&caller.environment)
            .env(VARIABLE, Dilation::of_process().to_string())
            .current_dir(caller.folder)
            .process_group(0)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(error));
        match at.spawn(&mut command) {
            Ok(child) => {
                // The descriptors that it still holds would keep a pipe open.
                drop(command);
                Reply::Exited(attend(child, stream, &self.down))
            }
            Err(error) => Reply::Refused(format!("cannot start `{}`: {error}", words.join(" "))),
        }
    }
}

/// Ends everything, once the callers that are being answered have gone; those that stay do not hold it up.
fn end(mut control: Arc<Control>) {
    let limit = now() + CALLERS_MAX;
    while now() < limit {
        match Arc::try_unwrap(control) {
            Ok(control) => return drop(control),
            Err(shared) => control = shared,
        }
        rest(POLL);
    }
}

/// Environment and working directory that a command gets from its caller.
struct Caller<'a> {
    environment: BTreeMap<String, String>,
    folder: &'a Path,
}

/// Beginnings and ends of faults, latest first: the time since the run's start, the fault's number, whether
/// it begins.
fn timeline(faults: &[TimedFault]) -> Vec<(u64, usize, bool)> {
    let mut due: Vec<(u64, usize, bool)> = Vec::new();
    for (number, timed) in faults.iter().enumerate() {
        due.push((timed.at_ns, number, true));
        due.extend(timed.for_ns.map(|for_ns| (timed.at_ns + for_ns, number, false)));
    }
    due.sort_by(|a, b| b.cmp(a));
    due
}

/// Waits for the end of a command, and passes on signals. A caller that goes ends it.
fn attend(mut child: Child, stream: &UnixStream, down: &AtomicBool) -> i32 {
    let orders = orders(stream);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return code(status),
            Ok(None) => {}
            // It cannot be waited for; then it is not our child any more.
            Err(_) => return 0,
        }
        match orders.try_recv() {
            Ok(number) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    send(child.id(), signal);
                }
            }
            Err(TryRecvError::Empty) if !down.load(Ordering::Relaxed) => {}
            Err(_) => {
                let family = machine::processes::family(child.id());
                family.iter().for_each(|pid| send(*pid, Signal::KILL));
                let _ = child.wait();
                return code(ExitStatus::from_raw(libc::SIGKILL));
            }
        }
        rest(POLL);
    }
}

fn code(status: ExitStatus) -> i32 {
    let by_signal = status.signal().map(|signal| 128 + signal);
    status.code().or(by_signal).unwrap_or(1)
}

/// Signals that the caller sends; closed once it has gone.
fn orders(stream: &UnixStream) -> Receiver<i32> {
    let (sender, receiver) = channel();
    if let Ok(stream) = stream.try_clone() {
        thread::spawn(move || {
            let lines = BufReader::new(stream.take(LINE_BYTES_MAX)).lines();
            for line in lines.map_while(Result::ok) {
                if let Ok(Request::Signal(number)) = serde_json::from_str(&line)
                    && sender.send(number).is_err()
                {
                    return;
                }
            }
        });
    }
    receiver
}

/// Requests of the caller, and a flag that is set once it has gone.
fn watch(stream: &UnixStream) -> (Arc<AtomicBool>, Receiver<Request>) {
    let gone = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = channel();
    if let Ok(stream) = stream.try_clone() {
        let gone = Arc::clone(&gone);
        thread::spawn(move || {
            let mut lines = BufReader::new(stream);
            let mut line = String::new();
            while let Ok(1..) = (&mut lines).take(LINE_BYTES_MAX).read_line(&mut line) {
                // A request without a receiver is dropped: whoever would act on it has gone.
                let _ = serde_json::from_str(&line).map(|request| sender.send(request));
                line.clear();
            }
            gone.store(true, Ordering::Relaxed);
        });
    }
    (gone, receiver)
}

/// The first line of a connection, and the descriptors that came with it.
fn first_line(stream: &UnixStream) -> io::Result<(String, Vec<OwnedFd>)> {
    let mut line = Vec::new();
    let mut descriptors = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while !line.ends_with(b"\n") {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [io::IoSliceMut::new(&mut buffer)];
        let received = recvmsg(stream, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        let is_cut = received.flags.contains(ReturnFlags::CTRUNC);
        line.extend_from_slice(&buffer[..received.bytes]);
        if received.bytes == 0 || is_cut || line.len() as u64 > LINE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    let line = String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok((line, descriptors))
}

pub(crate) fn write_line(mut stream: &UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_string(reply)?;
    line.push('\n');
    stream.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Fault;

    #[test]
    fn faults_begin_and_end_in_the_order_of_their_times() {
        let timed =
            |at_ns, for_ns| TimedFault { at_ns, for_ns, fault: Fault::Partition(vec![0], vec![1]) };
        let mut due = timeline(&[timed(5, Some(10)), timed(7, None), timed(1, Some(4))]);
        let mut order = Vec::new();
        while let Some(next) = due.pop() {
            order.push(next);
        }
        assert_eq!(
            order,
            [(1, 2, true), (5, 0, true), (5, 2, false), (7, 1, true), (15, 0, false)]
        );
    }
}
