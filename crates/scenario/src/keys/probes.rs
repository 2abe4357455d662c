//! What is asked on the server's side: one table a kind of source.

use super::Default::{Absent, Required, Said, Text};
use super::{Default, Key, Kind, Table};

const fn key(name: &'static str, kind: Kind, default: Default, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default,
        doc,
    }
}

const COMMON: &[Key] = &[
    key(
        "role",
        Kind::Text,
        Said("its kind: `host`, `redis`, …"),
        "What the source is to the system, as `servers`",
    ),
    key(
        "name",
        Kind::Text,
        Said("its address without a password"),
        "The source's own name",
    ),
    key("region", Kind::Text, Absent, "Where it is"),
    key(
        "every",
        Kind::Duration,
        Text("1s"),
        "How often it is asked, `100ms` to `1h`",
    ),
];

const PAGE: &[Key] = &[key(
    "headers",
    Kind::Map(&Kind::Text),
    Absent,
    "Sent with the request; values with secrets come from `${env('NAME')}`",
)];

pub(crate) static PROCESS: Table = Table {
    name: "process",
    groups: &[&[
        key("pid", Kind::Count, Absent, "The process of this number"),
        key(
            "name",
            Kind::Text,
            Absent,
            "All processes of this name, added up",
        ),
        key(
            "port",
            Kind::Count,
            Absent,
            "All processes that listen on this TCP port, added up",
        ),
    ]],
};

pub(crate) static PROBES: &[Table] = &[
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
                "Processes of this machine: `target` (what serves the target), or by number, name \
                 or port",
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
                "`redis://` or `rediss://` (TLS), a host, and perhaps a user, a password and a port",
            )],
            COMMON,
        ],
    },
    Table {
        name: "mysql probe",
        groups: &[
            &[key(
                "mysql",
                Kind::Text,
                Required,
                "`mysql://user@host:port/`, of MySQL or MariaDB",
            )],
            COMMON,
        ],
    },
    Table {
        name: "postgres probe",
        groups: &[
            &[key(
                "postgres",
                Kind::Text,
                Required,
                "`postgres://user@host:port/database`",
            )],
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
                    "Which metrics: names, or regular expressions that match whole names",
                ),
            ],
            PAGE,
            COMMON,
        ],
    },
];
