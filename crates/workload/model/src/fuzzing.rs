//! The fuzzers' way to the lines of a log, without the fits of a whole model. Not part of the crate's interface.

use crate::format::{FormatSpec, choose};

/// Reads `data` as a log in the format that is detected, and in each that has to be named: each line is read or refused,
/// and nothing panics.
pub fn log_lines(data: &[u8]) {
    let named = [
        FormatSpec::Alb,
        FormatSpec::Haproxy,
        FormatSpec::Envoy,
        FormatSpec::Tsung,
        FormatSpec::W3c,
    ];
    for spec in [FormatSpec::Detect].into_iter().chain(named) {
        let Ok(mut format) = choose(&spec, data, &[]) else {
            continue;
        };
        for line in data.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii_end();
            if let Some(next) = format.redirected(line) {
                format = next;
            } else if !format.is_remark(line) {
                let _ = format.parse(line);
            }
        }
    }
}
