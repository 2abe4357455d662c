//! Emulated hosts: a network namespace each, with one device whose other end is the network's.
//!
//! A namespace has no name and no file: it exists as long as its descriptor here, or a process in it.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::panic;
use std::process::{self, Child, Command};
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::wan::{WanError, sys};

/// The namespace of the thread that opens it.
const OWN: &str = "/proc/thread-self/ns/net";
/// Counts of the devices of a thread's namespace.
const DEVICES: &str = "/proc/thread-self/net/dev";
/// The column of packets that a device dropped instead of sending, after its name.
const DROPPED: usize = 11;
const TUN: &str = "/dev/net/tun";
/// Settings with which a namespace passes on packets for others, by the route alone: whichever way they came,
/// and without telling the sender of a shorter one. New devices take the values of `default`; of redirects
/// both must be off.
const ROUTING: [(&str, &str); 5] = [
    ("/proc/sys/net/ipv4/ip_forward", "1"),
    ("/proc/sys/net/ipv4/conf/all/rp_filter", "0"),
    ("/proc/sys/net/ipv4/conf/default/rp_filter", "0"),
    ("/proc/sys/net/ipv4/conf/all/send_redirects", "0"),
    ("/proc/sys/net/ipv4/conf/default/send_redirects", "0"),
];
/// Packets that wait until the forwarder reads them: 20 ms at 500,000 packets per second.
const QUEUE_PACKETS: i32 = 10_000;

/// A host's network, alone with its loopback and a device to the other hosts.
#[derive(Debug)]
pub struct Namespace {
    net: OwnedFd,
    address: Ipv4Addr,
}

impl Namespace {
    /// Makes a namespace whose only way out is a device with this address, through which all other addresses are
    /// reached. The descriptor is the device's other end, for a [`Port`](crate::wan::Port). `mtu` is the largest packet,
    /// in bytes.
    ///
    /// # Errors
    /// The kernel has no TUN devices, a capability is missing, or the limit on open files or memory is met.
    pub fn create(address: Ipv4Addr, mtu: u16) -> Result<(Namespace, OwnedFd), WanError> {
        Namespace::with(address, || set_up(address, mtu))
    }

    /// Makes a namespace without devices, for a host that will have this address.
    pub(crate) fn empty(address: Ipv4Addr) -> Result<Namespace, WanError> {
        Namespace::with(address, || Ok(())).map(|(namespace, ())| namespace)
    }

    /// Makes a namespace without devices or an address, which passes packets on.
    pub(crate) fn router() -> Result<Namespace, WanError> {
        let route = || {
            for (setting, value) in ROUTING {
                fs::write(setting, value).map_err(|e| WanError::system("route packets", e))?;
            }
            Ok(())
        };
        Namespace::with(Ipv4Addr::UNSPECIFIED, route).map(|(namespace, ())| namespace)
    }

    /// Makes a namespace, and does something in it.
    fn with<T: Send>(
        address: Ipv4Addr,
        then: impl FnOnce() -> Result<T, WanError> + Send,
    ) -> Result<(Namespace, T), WanError> {
        on_own_thread(|| {
            #[expect(unsafe_code, reason = "only leaving the file table can break Rust's rules")]
            // SAFETY: the file table stays shared; only the network of this thread, which ends here, is another.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
                .map_err(|e| WanError::system("make a network namespace", e))?;
            let net =
                File::open(OWN).map_err(|e| WanError::system("open a network namespace", e))?;
            let done = then()?;
            let net = OwnedFd::from(net);
            Ok((Namespace { net, address }, done))
        })
    }

    /// Path by which other programs find the namespace, as long as it exists.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", process::id(), self.net.as_raw_fd())
    }

    /// The host's address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Packets that the host sent and its device dropped: the forwarder was too slow to read them.
    ///
    /// # Errors
    /// The kernel's table of devices cannot be read.
    pub fn dropped(&self) -> io::Result<u64> {
        let text = self.run(|| fs::read_to_string(DEVICES))??;
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let count = lines
            .find(|(name, _)| name.trim() == sys::DEVICE)
            .and_then(|(_, counts)| counts.split_whitespace().nth(DROPPED)?.parse().ok());
        count.ok_or_else(|| io::Error::other(format!("{DEVICES} does not list the device")))
    }

    /// Runs something on a thread in the namespace, and waits for it. Sockets that it opens belong to the namespace
    /// and may be used anywhere.
    ///
    /// # Errors
    /// The kernel refuses the thread or the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_own_thread(|| {
            move_into_link_name_space(self.net.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(work())
        })
    }

    /// Starts a program in the namespace. Its parent is this process; the thread that started it ends at once, which
    /// is what `PR_SET_PDEATHSIG` would notice.
    ///
    /// # Errors
    /// Those of [`Command::spawn`] and of [`run`](Self::run).
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.run(|| command.spawn())?
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.net.as_fd()
    }
}

/// Namespaces belong to threads: what happens to them happens on one that ends afterwards.
fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panicked) => panic::resume_unwind(panicked),
    })
}

/// Brings up loopback and the device of the calling thread's namespace.
fn set_up(address: Ipv4Addr, mtu: u16) -> Result<OwnedFd, WanError> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let tun = rustix::fs::open(TUN, flags, Mode::empty()).map_err(|e| match e {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => WanError::NoTun,
        e => WanError::system("open /dev/net/tun", e),
    })?;
    let failed = |what| move |e: io::Error| WanError::system(what, e);
    sys::make_tun(&tun).map_err(failed("make a TUN device"))?;
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
        .map_err(|e| WanError::system("open a socket", e))?;
    sys::bring_up(&socket, "lo").map_err(failed("bring up loopback"))?;
    let device = sys::DEVICE;
    sys::set_address(&socket, device, address).map_err(failed("set a device's address"))?;
    sys::set_mtu(&socket, device, mtu).map_err(failed("set a device's MTU"))?;
    match sys::set_queue_length(&socket, device, QUEUE_PACKETS) {
        // Only the machine's own root may; others have the kernel's 500, and `dropped` shows if they are too few.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
        result => result.map_err(failed("set a device's queue"))?,
    }
    sys::bring_up(&socket, device).map_err(failed("bring up a device"))?;
    sys::add_default_route(&socket, device).map_err(failed("add a device's route"))?;
    Ok(tun)
}
