//! Probes of the server's side: one table for each kind of source.

use super::Default::{Absent, Required, Said, Text};
use super::{Default, Key, Kind, Table};

const fn key(name: &'static str, kind: Kind, default: Default, doc: &'static str) -> Key {
    Key { name, kind, default, doc }
}

const COMMON: &[Key] = &[
    key(
        "role",
        Kind::Text,
        Said("the probe's kind: `host`, `redis`, …"),
        "Role of the source in the system, such as `servers`",
    ),
    key("name", Kind::Text, Said("the address without a password"), "The source's own name"),
    key("region", Kind::Text, Absent, "Region or site of the source"),
    key("every", Kind::Duration, Text("1s"), "Interval between readings, `100ms` to `1h`"),
];

const PAGE: &[Key] = &[key(
    "headers",
    Kind::Map(&Kind::Text),
    Absent,
    "Headers of the request; take secrets from `${env('NAME')}`",
)];

/// The keys of `process`.
pub static PROCESS: Table = Table {
    name: "process",
    groups: &[&[
        key("pid", Kind::Count, Absent, "The process with this id"),
        key("name", Kind::Text, Absent, "The sum over all processes with this name"),
        key("port", Kind::Count, Absent, "The sum over all processes that listen on this TCP port"),
    ]],
};

/// The kinds of probes that have keys.
pub static PROBES: &[Table] = &[
    Table {
        name: "host probe",
        groups: &[
            &[key(
                "host",
                Kind::Any(&[Kind::Nothing, Kind::Word(&["this"])]),
                Required,
                "The machine that Throng runs on",
            )],
            COMMON,
        ],
    },
    Table {
        name: "process probe",
        groups: &[
            &[key(
                "process",
                Kind::Any(&[Kind::Word(&["target"]), Kind::Mapping(&PROCESS)]),
                Required,
                "Processes of this machine: `target` (the processes that serve the \
                 target), or by process id, name or port",
            )],
            COMMON,
        ],
    },
    Table {
        name: "cgroup probe",
        groups: &[
            &[key(
                "cgroup",
                Kind::Text,
                Required,
                "A control group of this machine: `/system.slice/nginx.service`",
            )],
            COMMON,
        ],
    },
    Table {
        name: "redis probe",
        groups: &[
            &[key(
                "redis",
                Kind::Text,
                Required,
                "`redis://` or `rediss://` (TLS) with a host and optionally a user, a \
                 password and a port",
            )],
            COMMON,
        ],
    },
    Table {
        name: "mysql probe",
        groups: &[
            &[key("mysql", Kind::Text, Required, "`mysql://user@host:port/` of MySQL or MariaDB")],
            COMMON,
        ],
    },
    Table {
        name: "postgres probe",
        groups: &[
            &[key("postgres", Kind::Text, Required, "`postgres://user@host:port/database`")],
            COMMON,
        ],
    },
    Table {
        name: "nginx probe",
        groups: &[
            &[key(
                "nginx",
                Kind::Text,
                Required,
                "The page of nginx's `stub_status`: a URL, or a path at the target",
            )],
            PAGE,
            COMMON,
        ],
    },
    Table {
        name: "prometheus probe",
        groups: &[
            &[
                key(
                    "prometheus",
                    Kind::Text,
                    Required,
                    "A page in Prometheus' text format: a URL, or a path at the target",
                ),
                key(
                    "metrics",
                    Kind::OneOrMore(&Kind::Text),
                    Said("all"),
                    "Metrics to read: names, or regular expressions that match the \
                     complete name",
                ),
            ],
            PAGE,
            COMMON,
        ],
    },
];
