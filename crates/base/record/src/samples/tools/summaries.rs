//! Forms that are known, and have no operations that could be read.

use crate::samples::results::ResultsError;

/// A form that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    tool: &'static str,
    lacks: &'static str,
    instead: &'static str,
}

const PERCENTILES: &str = "it has percentiles of all requests together, and not the time of any";

/// The keys of a JSON object that only this form has together, and the form.
const BY_KEYS: &[(&[&str], Summary)] = &[
    (
        &["root_group", "metrics"],
        Summary {
            tool: "k6, summary in JSON",
            lacks: PERCENTILES,
            instead: "let k6 write each request with --out json=FILE or --out csv=FILE",
        },
    ),
    (
        &["latencies", "bytes_in", "status_codes"],
        Summary {
            tool: "vegeta, report in JSON",
            lacks: PERCENTILES,
            instead: "write each request with `vegeta encode --to json`",
        },
    ),
    (
        &["responseTimeHistogram", "latencyPercentiles"],
        Summary {
            tool: "oha, report in JSON",
            lacks: PERCENTILES,
            instead: "let oha write each request with --output-format csv",
        },
    ),
    (
        &["RunType", "RequestedQPS"],
        Summary {
            tool: "fortio, report in JSON",
            lacks: "it has a few wide buckets of all requests together, and not the time of any",
            instead: "let fortio write each request with -access-log-file FILE",
        },
    ),
    (
        &["aggregate", "intermediate"],
        Summary {
            tool: "Artillery, report in JSON",
            lacks: PERCENTILES,
            instead: "Artillery writes no single requests",
        },
    ),
    (
        &["latency", "requests", "throughput", "pipelining"],
        Summary {
            tool: "autocannon, report in JSON",
            lacks: PERCENTILES,
            instead: "autocannon writes no single requests",
        },
    ),
    (
        &["$schema", "failures", "stats"],
        Summary {
            tool: "Hyperfoil, report in JSON",
            lacks: "it has points of the distribution of each metric, responses that failed among them, and not the \
                    time of any",
            instead: "Hyperfoil writes no single requests",
        },
    ),
];

/// Texts that a report has, and its form.
const BY_TEXTS: &[(&[&str], Summary)] = &[
    (
        &["Running ", " threads and ", " connections"],
        Summary {
            tool: "wrk or wrk2, report as text",
            lacks: PERCENTILES,
            instead: "wrk writes no single requests",
        },
    ),
    (
        &["starting benchmark...", "spawning thread"],
        Summary {
            tool: "h2load, report as text",
            lacks: PERCENTILES,
            instead: "let h2load write each request with --log-file FILE",
        },
    ),
    (
        &["This is ApacheBench"],
        Summary {
            tool: "ab, report as text",
            lacks: PERCENTILES,
            instead: "ab does not write which requests failed",
        },
    ),
    (
        &["Type,Name,Request Count,Failure Count"],
        Summary {
            tool: "Locust, statistics in CSV",
            lacks: PERCENTILES,
            instead: "let Locust write histograms with --json",
        },
    ),
    (
        &["Summary:", "Requests/sec:"],
        Summary {
            tool: "hey or oha, report as text",
            lacks: PERCENTILES,
            instead: "let hey write each request with -o csv, oha with --output-format csv",
        },
    ),
];

const VEGETA: Summary = Summary {
    tool: "vegeta, binary results",
    lacks: "they are in Go's own encoding",
    instead: "convert them with `vegeta encode --to json`",
};

impl Summary {
    /// The form of a binary content.
    pub(super) fn of_bytes(head: &[u8]) -> Option<Summary> {
        let begin = &head[..head.len().min(400)];
        let has = |text: &[u8]| begin.windows(text.len()).any(|part| part == text);
        let is_binary = begin.contains(&0) || begin.contains(&0xff);
        if !is_binary {
            return None;
        }
        let is_vegeta =
            [&b"Attack"[..], b"Seq", b"Code", b"Timestamp", b"Latency"].into_iter().all(has);
        is_vegeta.then_some(VEGETA)
    }

    /// The form of a JSON object with these keys.
    pub(super) fn of_keys(keys: &[&str]) -> Option<Summary> {
        let found = BY_KEYS.iter().find(|(own, _)| own.iter().all(|key| keys.contains(key)));
        found.map(|(_, summary)| *summary)
    }

    /// The form of a text that begins like this.
    pub(super) fn of_text(text: &str) -> Option<Summary> {
        let found = BY_TEXTS.iter().find(|(own, _)| {
            let begins = own.first().is_some_and(|first| text.starts_with(first));
            begins && own.iter().all(|part| text.contains(part))
        });
        found.map(|(_, summary)| *summary)
    }

    /// The error for such a content.
    pub(super) fn refusal(self) -> ResultsError {
        ResultsError::Lacks { tool: self.tool, lacks: self.lacks.to_owned(), instead: self.instead }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_refused_with_what_they_lack() {
        for (content, tool) in [
            (&b"{\"root_group\":{},\"metrics\":{}}"[..], "k6"),
            (b"{\"latencies\":{\"50th\":1},\"bytes_in\":{},\"status_codes\":{}}", "vegeta"),
            (b"{\"summary\":{},\"responseTimeHistogram\":{},\"latencyPercentiles\":{}}", "oha"),
            (b"{\"RunType\":\"HTTP\",\"RequestedQPS\":\"8\",\"DurationHistogram\":{}}", "fortio"),
            (b"{\"aggregate\":{},\"intermediate\":[]}", "Artillery"),
            (b"{\"requests\":{},\"latency\":{},\"throughput\":{},\"pipelining\":1}", "autocannon"),
            (
                b"{\"info\":{},\"$schema\":\"x\",\"version\":\"1\",\"failures\":[],\"stats\":[]}",
                "Hyperfoil",
            ),
            (b"Running 30s test @ http://x/\n  2 threads and 10 connections\n", "wrk"),
            (b"starting benchmark...\nspawning thread #0: 1 total client(s)\n", "h2load"),
            (b"\nSummary:\n  Total:\t1 secs\n  Requests/sec:\t5\n", "hey"),
            (b"This is ApacheBench, Version 2.3\n", "ab"),
            (b"Type,Name,Request Count,Failure Count,Median Response Time\n", "Locust"),
            (b"\xff\x81\x03\x01\x01\x06Result Attack Seq Code Timestamp Latency", "vegeta"),
        ] {
            let options = crate::samples::ReadOptions::default();
            let error = crate::samples::tools::read(content, &options).unwrap_err();
            let ResultsError::Lacks { tool: found, .. } = &error else { panic!("{error}") };
            assert!(found.starts_with(tool), "{tool}: {error}");
        }
    }
}
