//! TCP sockets of this machine, from the kernel's socket monitoring (`sock_diag(7)`). It passes over those in states
//! that are not wanted. `/proc/net/tcp` has a line for each, and a kernel that cannot find the place again where a read
//! ended searches the table from its beginning: 48,000 sockets took 16 s.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

/// A socket, or a connection that has none yet or no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    /// As in the kernel's `tcp_states.h`.
    pub state: u8,
    pub local_port: u16,
    /// Inode of the socket's file; 0 without a file.
    pub inode: u32,
}

/// Longer than the kernel takes for any number of sockets; it answers at once.
const WAIT: Duration = Duration::from_secs(2);
/// The kernel fills at most this much with one part of an answer.
const PART_BYTES: usize = 32 * 1024;
/// Bytes of `struct nlmsghdr`: length (4), type (2), flags (2), sequence (4), sender (4).
const HEAD: usize = 16;
/// Bytes of a request: the head and `struct inet_diag_req_v2`.
const REQUEST: usize = HEAD + 56;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// `NLMSG_DONE`.
const DONE: u16 = 3;
const IPPROTO_TCP: u8 = 6;
/// The state of a listening socket.
pub(crate) const LISTEN: u8 = 0x0A;
/// Bytes of `struct inet_diag_msg`.
const SOCKET: usize = 72;

/// Passes on the sockets whose state is in `states`, a bit for each.
///
/// # Errors
/// When the kernel has no such monitoring, or it may not be used.
pub(crate) fn each(states: u32, mut found: impl FnMut(Socket)) -> Result<(), Errno> {
    let socket = net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(WAIT))?;
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        net::send(&socket, &request(family, states), SendFlags::empty())?;
        receive(&socket, &mut found)?;
    }
    Ok(())
}

fn request(family: AddressFamily, states: u32) -> [u8; REQUEST] {
    let mut request = [0; REQUEST];
    request[..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    // Families are small numbers, of which this field has the lowest byte.
    request[HEAD] = family.as_raw() as u8;
    request[HEAD + 1] = IPPROTO_TCP;
    request[HEAD + 4..HEAD + 8].copy_from_slice(&states.to_ne_bytes());
    request
}

fn receive(socket: &OwnedFd, found: &mut impl FnMut(Socket)) -> Result<(), Errno> {
    let mut part = [0; PART_BYTES];
    loop {
        let (length, _) = net::recv(socket, &mut part[..], RecvFlags::empty())?;
        if read_part(&part[..length], found)? {
            return Ok(());
        }
    }
}

/// Passes on the sockets of one part of an answer; true if it is the last one.
fn read_part(mut part: &[u8], found: &mut impl FnMut(Socket)) -> Result<bool, Errno> {
    while let Some((head, _)) = part.split_first_chunk::<HEAD>() {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let body = part.get(HEAD..length).ok_or(Errno::BADMSG)?;
        match u16::from_ne_bytes([head[4], head[5]]) {
            DONE => return Ok(true),
            ERROR => {
                let code = body.first_chunk().ok_or(Errno::BADMSG)?;
                let code = i32::from_ne_bytes(*code).saturating_neg();
                return Err(Errno::from_raw_os_error(code));
            }
            _ => found(socket(body.first_chunk().ok_or(Errno::BADMSG)?)),
        }
        // Messages begin at multiples of four bytes.
        part = part.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// `struct inet_diag_msg`: family, state, two more bytes; the local port, with 46 bytes of addresses behind it; four
/// numbers; the inode. Ports are in network order.
fn socket(body: &[u8; SOCKET]) -> Socket {
    Socket {
        state: body[1],
        local_port: u16::from_be_bytes([body[4], body[5]]),
        inode: u32::from_ne_bytes([body[68], body[69], body[70], body[71]]),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = HEAD + body.len();
        let mut bytes = (length as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(length.next_multiple_of(4), 0);
        bytes
    }

    fn sockets(part: &[u8]) -> (Result<bool, Errno>, Vec<Socket>) {
        let mut found = Vec::new();
        let last = read_part(part, &mut |socket| found.push(socket));
        (last, found)
    }

    #[test]
    fn parts_are_read_until_the_last_one() {
        let mut body = [0; SOCKET];
        body[1] = 8;
        body[4..6].copy_from_slice(&[0x1f, 0x90]);
        body[68..].copy_from_slice(&4711_u32.to_ne_bytes());
        let socket = Socket { state: 8, local_port: 8080, inode: 4711 };
        let mut part = message(BY_FAMILY, &body);
        part.extend(message(BY_FAMILY, &[&body[..], &[0; 5]].concat()));
        assert_eq!(sockets(&part), (Ok(false), vec![socket; 2]));
        part.extend(message(DONE, &[0; 4]));
        assert_eq!(sockets(&part), (Ok(true), vec![socket; 2]));
    }

    #[test]
    fn errors_and_broken_messages_are_errors() {
        let refused = message(ERROR, &(-1_i32).to_ne_bytes());
        assert_eq!(sockets(&refused), (Err(Errno::PERM), Vec::new()));
        let whole = message(BY_FAMILY, &[0; SOCKET]);
        for broken in [&whole[..HEAD + 2], &message(BY_FAMILY, &[0; SOCKET - 4])] {
            assert_eq!(sockets(broken), (Err(Errno::BADMSG), Vec::new()));
        }
        for length in 0..HEAD as u32 {
            let mut short = whole.clone();
            short[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(sockets(&short), (Err(Errno::BADMSG), Vec::new()));
        }
    }

    #[test]
    fn the_kernel_lists_listeners_of_both_families() {
        let listeners = ["127.0.0.1:0", "[::1]:0"].map(TcpListener::bind);
        let made: Vec<u16> = listeners
            .iter()
            .filter_map(|made| Some(made.as_ref().ok()?.local_addr().unwrap().port()))
            .collect();
        let mut found = Vec::new();
        each(1 << LISTEN, |socket| {
            assert_eq!(socket.state, LISTEN);
            found.push(socket.local_port);
        })
        .unwrap();
        assert!(!made.is_empty() && made.iter().all(|port| found.contains(port)));
    }
}
