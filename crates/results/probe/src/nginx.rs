//! nginx's `ngx_http_stub_status_module`.

use plan::probes::Page;

use crate::reading::Reading;
use crate::source::{ReadError, Source};
use crate::web::Web;

/// The page of one server.
#[derive(Debug)]
pub(crate) struct Nginx {
    web: Web,
}

impl Nginx {
    pub(crate) fn new(page: &Page) -> Nginx {
        Nginx { web: Web::new(page) }
    }
}

impl Source for Nginx {
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        read_into(&self.web.fetch()?, reading)
    }
}

/// ```text
/// Active connections: 291
/// server accepts handled requests
///  16630948 16630948 31070465
/// Reading: 6 Writing: 179 Waiting: 106
/// ```
fn read_into(text: &str, reading: &mut Reading) -> Result<(), ReadError> {
    let numbers: Vec<f64> = text
        .split_ascii_whitespace()
        .filter_map(|word| word.parse::<u64>().ok())
        .map(|number| number as f64)
        .collect();
    let &[active, accepted, handled, requests, reading_now, writing, waiting] = &numbers[..] else {
        let what = "this is not a page of stub_status".to_owned();
        return Err(ReadError::Nonsense(what));
    };
    if !text.starts_with("Active connections:") {
        let what = "this is not a page of stub_status".to_owned();
        return Err(ReadError::Nonsense(what));
    }
    reading.gauge("connections_active", "1", active);
    reading.gauge("connections_reading", "1", reading_now);
    reading.gauge("connections_writing", "1", writing);
    reading.gauge("connections_waiting", "1", waiting);
    reading.counter("connections_accepted", "1/s", accepted);
    // Dropped because a limit of its own was met, such as `worker_connections`.
    reading.counter("connections_dropped", "1/s", (accepted - handled).max(0.0));
    reading.counter("requests", "1/s", requests);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn the_page_of_the_manual_is_read() {
        let page = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630940 \
                    31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        read_into(page, &mut reading).unwrap();
        let expected = [
            "connections_active 1 291",
            "connections_reading 1 6",
            "connections_writing 1 179",
            "connections_waiting 1 106",
        ];
        assert_eq!(names.lines(reading.take()), expected);
        reading.begin(1_000_000_000);
        read_into(&page.replace("31070465", "31070565"), &mut reading).unwrap();
        assert!(names.lines(reading.take()).contains(&"requests 1/s 100".to_owned()));
        assert!(read_into("<html>1 2 3 4 5 6 7", &mut reading).is_err());
        assert!(read_into("", &mut reading).is_err());
    }
}
