//! An authority of the lab's own and a certificate for all of its names, made by openssl.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::dns::DOMAIN;
use crate::file::CertificateFile;

/// The program that makes them, and Debian's name of its package.
pub(crate) const PROGRAM: &str = "openssl";
/// For how long they are valid.
const DAYS: &str = "30";

/// Makes the files of the lab's certificate in a directory of their own. Names stand without the lab's domain; clients take no
/// wildcard for all names of a domain of one label.
pub(crate) fn make<'a>(folder: &Path, names: impl Iterator<Item = &'a str>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let path = |name: &str| folder.join(name).display().to_string();
    let [certificate, key, authority] =
        [CertificateFile::Certificate, CertificateFile::Key, CertificateFile::Authority]
            .map(|file| path(file.name()));
    let [authority_key, request, extensions] =
        ["authority-key.pem", "request", "extensions"].map(path);
    let names: Vec<String> = names.map(|name| format!("DNS:{name}{DOMAIN}")).collect();
    let names = names.join(",");
    fs::write(&extensions, format!("subjectAltName={names}\nbasicConstraints=CA:FALSE\n"))?;
    let new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let own = ["-x509", "-days", DAYS, "-subj", "/CN=authority of a lab"];
    run(&[&new[..], &own, &["-keyout", &authority_key, "-out", &authority]].concat())?;
    run(&[&new[..], &["-subj", "/CN=lab", "-keyout", &key, "-out", &request]].concat())?;
    let sign = ["x509", "-req", "-in", &request, "-days", DAYS, "-CA", &authority];
    let with = ["-CAkey", &authority_key, "-set_serial", "1", "-extfile", &extensions];
    run(&[&sign[..], &with, &["-out", &certificate]].concat())
}

fn run(words: &[&str]) -> io::Result<()> {
    let ended = Command::new(PROGRAM).args(words).stdin(Stdio::null()).output()?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let last = said.trim().lines().last().unwrap_or_default().to_owned();
    Err(io::Error::other(format!("openssl: {last}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::print_stdout, reason = "a test that skips says so")]
    fn the_authority_signs_a_certificate_for_all_names_of_the_lab() {
        if Command::new(PROGRAM).arg("version").output().is_err() {
            println!("SKIPPED: openssl is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), ["tls-one", "web"].into_iter()).unwrap();
        let path = |file: CertificateFile| folder.path().join(file.name()).display().to_string();
        let authority = path(CertificateFile::Authority);
        let verify = |host: &str| {
            let certificate = path(CertificateFile::Certificate);
            run(&["verify", "-CAfile", &authority, "-verify_hostname", host, &certificate])
        };
        verify("tls-one.lab").unwrap();
        verify("web.lab").unwrap();
        assert!(verify("example.org").is_err());
    }
}
