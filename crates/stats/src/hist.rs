//! A log-linear histogram of durations: three significant digits, pages made on first use.
