//! Random bytes of the kernel.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// A secret of `bytes` random bytes, in hexadecimal digits. It needs no file: a container may have no `/dev`.
///
/// # Errors
/// The system has no random numbers.
pub fn secret(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    let mut filled = 0;
    while filled < bytes {
        match getrandom(&mut random[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(units::hex(&random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_have_their_length_and_differ() {
        let one = secret(16).unwrap();
        let other = secret(16).unwrap();
        assert_eq!((one.len(), other.len()), (32, 32));
        assert_ne!(one, other);
        assert_eq!(secret(0).unwrap(), "");
        // More than the kernel fills at once.
        assert_eq!(secret(1000).unwrap().len(), 2000);
    }
}
