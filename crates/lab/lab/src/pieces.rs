//! Servers of the system's packages as ready pieces: how each is prepared and started on a host of its own.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::file::Package;

/// The user of all databases.
pub(crate) const USER: &str = "throng";
/// The database of that name is there.
pub(crate) const DATABASE: &str = "throng";

/// A server of a package on a host.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) package: Package,
    pub(crate) folder: &'a Path,
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) password: &'a str,
    pub(crate) options: &'a [String],
    /// The server that it follows: address and port.
    pub(crate) master: Option<(Ipv4Addr, u16)>,
    /// Different for all servers of a database: a replica's number.
    pub(crate) number: usize,
    /// Some other server follows this one.
    pub(crate) is_followed: bool,
}

/// Commands of a piece.
#[derive(Debug)]
pub(crate) struct Commands {
    pub(crate) prepare: Vec<Vec<String>>,
    pub(crate) command: Vec<String>,
}

/// The packages' programs, and Debian's names of the packages.
const PROGRAMS: [(Package, &[&str], &str); 5] = [
    (Package::MariaDb, &["mariadbd", "mariadb-install-db"], "mariadb-server"),
    (Package::Postgres, &["postgres", "initdb", "pg_basebackup"], "postgresql"),
    (Package::Redis, &["redis-server"], "redis-server"),
    (Package::Nats, &["nats-server"], "nats-server"),
    (Package::Nginx, &["nginx"], "nginx-light"),
];

/// The package's programs that are not installed, and the name of Debian's package.
pub(crate) fn missing(package: Package) -> Option<(&'static str, &'static str)> {
    let (_, programs, debian) = PROGRAMS.iter().find(|(known, ..)| *known == package)?;
    let missing = programs.iter().find(|name| program(name).is_none())?;
    Some((missing, debian))
}

/// The path of a program, if it is installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let files = folders().into_iter().map(|folder| folder.join(name));
    files.into_iter().find(|file| file.is_file())
}

/// Search path for programs, from `PATH`.
pub(crate) fn path() -> String {
    let folders = folders();
    let joined = std::env::join_paths(&folders).unwrap_or_default();
    joined.to_string_lossy().into_owned()
}

/// Debian keeps PostgreSQL's programs out of `PATH`, and those of servers in `sbin`.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from));
    if let Ok(entries) = fs::read_dir("/usr/lib/postgresql") {
        let versions = entries.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
        let mut versions: Vec<PathBuf> = versions.collect();
        versions.sort();
        folders.extend(versions.into_iter().rev());
    }
    folders
}

/// The URL of a server, with the user and the password where it has them.
pub(crate) fn url(package: Package, address: Ipv4Addr, port: u16, password: &str) -> String {
    match package {
        Package::MariaDb => format!("mysql://{USER}:{password}@{address}:{port}/{DATABASE}"),
        Package::Postgres => format!("postgres://{USER}:{password}@{address}:{port}/{DATABASE}"),
        Package::Redis => format!("redis://:{password}@{address}:{port}/"),
        Package::Nats => format!("nats://{USER}:{password}@{address}:{port}"),
        Package::Nginx => format!("http://{address}:{port}/"),
    }
}

impl Piece<'_> {
    /// Writes the files that it needs, and says how it is started.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn commands(&self) -> io::Result<Commands> {
        match self.package {
            Package::MariaDb => self.mariadb(),
            Package::Postgres => self.postgres(),
            Package::Redis => self.redis(),
            Package::Nats => self.nats(),
            Package::Nginx => Ok(self.nginx()),
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn mariadb(&self) -> io::Result<Commands> {
        let data = self.path("data");
        fs::create_dir_all(&data)?;
        fs::create_dir_all(self.path("tmp"))?;
        let common = [
            "--no-defaults".to_owned(),
            format!("--datadir={data}"),
            format!("--tmpdir={}", self.path("tmp")),
            "--user=root".to_owned(),
        ];
        let password = self.password;
        let mut statements = vec![
            format!("CREATE DATABASE IF NOT EXISTS {DATABASE};"),
            format!("CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{password}';"),
            format!("GRANT ALL ON *.* TO '{USER}'@'%';"),
        ];
        if let Some((address, port)) = self.master {
            // A replica has what its master has, the user included.
            statements = vec![
                format!(
                    "CHANGE MASTER TO MASTER_HOST='{address}', MASTER_PORT={port}, MASTER_USER='{USER}', \
                     MASTER_PASSWORD='{password}', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos;"
                ),
                "START SLAVE;".to_owned(),
            ];
        }
        let start = self.path("start.sql");
        fs::write(&start, statements.join("\n") + "\n")?;
        let mut install = words(&["mariadb-install-db"]);
        install.extend(common.clone());
        install.push("--auth-root-authentication-method=normal".to_owned());
        install.push("--skip-test-db".to_owned());
        let mut command = words(&["mariadbd"]);
        command.extend(common);
        command.extend([
            format!("--port={}", self.port),
            format!("--bind-address={}", self.address),
            format!("--socket={}", self.path("socket")),
            format!("--pid-file={}", self.path("pid")),
            format!("--init-file={start}"),
            format!("--server-id={}", self.number + 1),
            "--skip-name-resolve".to_owned(),
        ]);
        if self.is_followed {
            command.push("--log-bin=log".to_owned());
        }
        if self.is_followed && self.master.is_some() {
            // What it takes over is for those that follow it, too.
            command.push("--log-slave-updates".to_owned());
        }
        if self.master.is_some() {
            command.push("--read-only".to_owned());
        }
        command.extend(self.options.iter().cloned());
        Ok(Commands { prepare: vec![install], command })
    }

    fn postgres(&self) -> io::Result<Commands> {
        let data = self.path("data");
        let secret = self.path("password");
        fs::write(&secret, self.password)?;
        // PostgreSQL refuses to run as root.
        let as_user = split("setpriv --reuid=postgres --regid=postgres --clear-groups");
        let as_user = |command: Vec<String>| [as_user.clone(), command].concat();
        let mut own = split("chown -R postgres:postgres");
        own.push(self.folder.display().to_string());
        let mut prepare = vec![own];
        match self.master {
            Some((address, port)) => {
                let master = url(Package::Postgres, address, port, self.password);
                let master = master.replace(&format!("/{DATABASE}"), "/postgres");
                let mut copy = split("pg_basebackup -R --checkpoint=fast --no-sync");
                copy.extend(words(&["-D", &data, "-d", &master]));
                prepare.push(as_user(copy));
            }
            None => {
                let mut make = split("initdb --auth=scram-sha-256 --no-sync -E UTF8 --locale=C");
                make.extend(words(&["-D", &data, "-U", USER, &format!("--pwfile={secret}")]));
                let hba = "echo 'host all,replication all 198.18.0.0/15 scram-sha-256' >> \"$0\"/pg_hba.conf";
                let create = format!(
                    "echo 'CREATE DATABASE {DATABASE}' | postgres --single -D \"$0\" postgres"
                );
                prepare.push(as_user(make));
                prepare.push(as_user(words(&["sh", "-c", hba, &data])));
                prepare.push(as_user(words(&["sh", "-c", &create, &data])));
            }
        }
        let port = self.port.to_string();
        let address = self.address.to_string();
        let mut command =
            as_user(words(&["postgres", "-D", &data, "-p", &port, "-h", &address, "-k", ""]));
        let options = self.options.iter();
        command.extend(options.flat_map(|option| ["-c".to_owned(), option.clone()]));
        Ok(Commands { prepare, command })
    }

    fn redis(&self) -> io::Result<Commands> {
        let mut lines = vec![
            format!("port {}", self.port),
            format!("bind {}", self.address),
            format!("dir {}", self.folder.display()),
            "save \"\"".to_owned(),
            format!("requirepass {}", self.password),
            "daemonize no".to_owned(),
        ];
        if let Some((address, port)) = self.master {
            lines.push(format!("replicaof {address} {port}"));
            lines.push(format!("masterauth {}", self.password));
        }
        lines.extend(self.options.iter().cloned());
        let config = self.path("redis.conf");
        fs::write(&config, lines.join("\n") + "\n")?;
        Ok(Commands { prepare: Vec::new(), command: words(&["redis-server", &config]) })
    }

    fn nats(&self) -> io::Result<Commands> {
        let mut lines = vec![
            format!("listen: {}:{}", self.address, self.port),
            format!("jetstream {{ store_dir: \"{}\" }}", self.path("store")),
            format!("authorization {{ user: \"{USER}\", password: \"{}\" }}", self.password),
        ];
        lines.extend(self.options.iter().cloned());
        let config = self.path("nats.conf");
        fs::write(&config, lines.join("\n") + "\n")?;
        Ok(Commands { prepare: Vec::new(), command: words(&["nats-server", "--config", &config]) })
    }

    /// Commands of nginx. The configuration is a file of the service.
    fn nginx(&self) -> Commands {
        let mut command = words(&[
            "nginx",
            "-p",
            &self.folder.display().to_string(),
            "-c",
            &self.path("nginx.conf"),
        ]);
        command.extend(self.options.iter().cloned());
        command.extend(words(&["-g", "daemon off;"]));
        Commands { prepare: Vec::new(), command }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Words that blanks divide.
fn split(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mariadb(folder: &Path, master: Option<(Ipv4Addr, u16)>, is_followed: bool) -> Vec<String> {
        let piece = Piece {
            package: Package::MariaDb,
            folder,
            address: Ipv4Addr::new(198, 18, 0, 2),
            port: 3306,
            password: "secret",
            options: &[],
            master,
            number: 1,
            is_followed,
        };
        piece.commands().unwrap().command
    }

    /// A master logs what it does; a replica that is followed logs what it takes over, too.
    #[test]
    fn a_replica_passes_on_what_it_takes_over() {
        let folder = tempfile::tempdir().unwrap();
        let master = Some((Ipv4Addr::new(198, 18, 0, 1), 3306));
        let logs = |master, is_followed| {
            let command = mariadb(folder.path(), master, is_followed);
            let has = |option: &str| command.iter().any(|word| word.starts_with(option));
            (has("--log-bin"), has("--log-slave-updates"))
        };
        assert_eq!(logs(None, true), (true, false));
        assert_eq!(logs(master, false), (false, false));
        assert_eq!(logs(master, true), (true, true));
        let start = fs::read_to_string(folder.path().join("start.sql")).unwrap();
        assert!(start.contains("MASTER_HOST='198.18.0.1'"), "{start}");
    }
}
