//! The system calls for which `rustix` has no function: those on network interfaces, and the scheduler's class.
#![expect(
    unsafe_code,
    reason = "interfaces are configured by ioctls, which take pointers to C structures"
)]

use std::ffi::c_ulong;
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};

/// The device's name inside each namespace.
pub(crate) const DEVICE: &str = "wan0";

/// `SIOCGSTAMPNS_OLD` of the kernel, whose times are the C library's on 64-bit machines.
const SIOCGSTAMPNS: libc::Ioctl = 0x8907;
/// `SIOCADDRT`, whose type is not [`libc::Ioctl`] with every C library.
const SIOCADDRT: libc::Ioctl = 0x890b;

/// Count of the numbers that `SO_MEMINFO` returns (`SK_MEMINFO_VARS`), and the index of the one that counts
/// drops (`SK_MEMINFO_DROPS`).
const MEMINFO_NUMBERS: usize = 9;
const MEMINFO_DROPS: usize = 8;

/// An `ifreq` of the kernel: the name of an interface, and a union.
#[repr(C, align(8))]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: [u8; 24],
}

impl Request {
    fn new(interface: &str, value: &[u8]) -> Request {
        let mut request = Request { name: [0; libc::IFNAMSIZ], value: [0; 24] };
        request.name[..interface.len()].copy_from_slice(interface.as_bytes());
        request.value[..value.len()].copy_from_slice(value);
        request
    }
}

/// Makes a TUN device in the calling thread's network namespace and connects the open `/dev/net/tun` to it. Packets
/// then carry a `virtio_net_hdr`, and may be larger than the MTU and without a checksum.
pub(crate) fn make_tun(tun: &impl AsFd) -> io::Result<()> {
    let flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as u16;
    let mut request = Request::new(DEVICE, &flags.to_ne_bytes());
    ioctl(tun, libc::TUNSETIFF, (&raw mut request).cast())?;
    let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO_ECN;
    ioctl(tun, libc::TUNSETOFFLOAD, std::ptr::without_provenance_mut(offloads as usize))
}

/// Sets the address of an interface; a TUN device's network is that address alone.
pub(crate) fn set_address(
    socket: &impl AsFd,
    interface: &str,
    address: Ipv4Addr,
) -> io::Result<()> {
    let address = socket_address(address);
    // SAFETY: `sockaddr_in` is 16 bytes of plain numbers, without padding.
    let bytes: [u8; 16] = unsafe { std::mem::transmute(address) };
    interface_ioctl(socket, libc::SIOCSIFADDR, interface, &bytes)
}

/// Sets the largest packet of an interface, in bytes.
pub(crate) fn set_mtu(socket: &impl AsFd, interface: &str, mtu: u16) -> io::Result<()> {
    let mtu = i32::from(mtu).to_ne_bytes();
    interface_ioctl(socket, libc::SIOCSIFMTU, interface, &mtu)
}

/// Sets how many packets wait at an interface.
pub(crate) fn set_queue_length(
    socket: &impl AsFd,
    interface: &str,
    packets: i32,
) -> io::Result<()> {
    interface_ioctl(socket, libc::SIOCSIFTXQLEN, interface, &packets.to_ne_bytes())
}

/// Switches an interface on.
pub(crate) fn bring_up(socket: &impl AsFd, interface: &str) -> io::Result<()> {
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    interface_ioctl(socket, libc::SIOCSIFFLAGS, interface, &flags.to_ne_bytes())
}

/// Sends what is for no other interface to this one.
pub(crate) fn add_default_route(socket: &impl AsFd, interface: &str) -> io::Result<()> {
    let mut name = [0_u8; libc::IFNAMSIZ];
    name[..interface.len()].copy_from_slice(interface.as_bytes());
    let any = socket_address(Ipv4Addr::UNSPECIFIED);
    // SAFETY: `rtentry` consists of numbers, addresses and pointers, for which zero is valid; a `sockaddr_in` is as
    // large as a `sockaddr`.
    let mut route: libc::rtentry = unsafe { zeroed() };
    const { assert!(size_of::<libc::sockaddr_in>() == size_of::<libc::sockaddr>()) };
    // SAFETY: as above.
    let any: libc::sockaddr = unsafe { std::mem::transmute(any) };
    (route.rt_dst, route.rt_genmask, route.rt_gateway) = (any, any, any);
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = name.as_mut_ptr().cast();
    ioctl(socket, SIOCADDRT, (&raw mut route).cast())
}

/// Lets the calling thread run before all threads of ordinary scheduling (`SCHED_FIFO` at the lowest priority).
pub(crate) fn run_first() -> io::Result<()> {
    // SAFETY: as above: plain numbers.
    let mut parameters: libc::sched_param = unsafe { zeroed() };
    parameters.sched_priority = 1;
    // SAFETY: the pointer is valid for the call; 0 is the calling thread.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const parameters,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the kernel note when packets arrive at a socket.
pub(crate) fn stamp_arrivals(socket: &impl AsFd) -> io::Result<()> {
    match arrival_ns(socket) {
        // Nothing has arrived yet; the request alone switches the stamps on.
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        Err(e) => Err(e),
        Ok(_) => Ok(()),
    }
}

/// When the packet that was received last arrived, by the wall clock, in nanoseconds.
pub(crate) fn arrival_ns(socket: &impl AsFd) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    ioctl(socket, SIOCGSTAMPNS, (&raw mut time).cast())?;
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// How many packets a socket did not take, because what arrived before had not been read.
pub(crate) fn missed(socket: &impl AsFd) -> io::Result<u32> {
    let mut numbers = [0_u32; MEMINFO_NUMBERS];
    let mut bytes = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: both pointers are valid for the call, and the kernel writes at most `bytes`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    match result {
        0 => Ok(numbers[MEMINFO_DROPS]),
        _ => Err(io::Error::last_os_error()),
    }
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) },
        sin_zero: [0; 8],
    }
}

fn interface_ioctl(
    socket: &impl AsFd,
    number: c_ulong,
    interface: &str,
    value: &[u8],
) -> io::Result<()> {
    let mut request = Request::new(interface, value);
    ioctl(socket, number as libc::Ioctl, (&raw mut request).cast())
}

fn ioctl(fd: &impl AsFd, number: libc::Ioctl, argument: *mut libc::c_void) -> io::Result<()> {
    // SAFETY: each caller passes a number together with the argument that this number takes, valid for the call.
    let result = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), number, argument) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
