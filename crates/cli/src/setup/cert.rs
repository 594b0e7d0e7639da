//! `wigwag cert`: an authority and certificates for a first try.
//!
//! The authority's name is made of its key, so a certificate is issued from the key alone. Files are
//! made anew or, with `--force`, replaced as a whole, so that a program never reads half of one; keys
//! are readable by their owner only.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use time::{Duration, OffsetDateTime};

use crate::exit::{Code, Failed};
use crate::print;
use crate::socket::quoted;

/// Time before now from which a certificate is valid: clocks differ.
const CLOCKS_DIFFER: Duration = Duration::hours(1);

/// Most days of validity: a century.
const DAYS_MAX: u32 = 36_525;

/// The permissions of a private key, and those of a certificate.
const KEY_MODE: u32 = 0o600;
const CERTIFICATE_MODE: u32 = 0o644;

/// Make certificates for tls+tcp://, for a first try
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cert {
    #[command(subcommand)]
    command: CertCommand,
}

const EXAMPLES: &str = "Examples:
  wigwag cert new-ca                                an authority: ca.pem and its key, ca.key
  wigwag cert issue node1.example 10.0.0.7          node1.example.pem and node1.example.key
  wigwag cert issue localhost 127.0.0.1 --days 30
A node needs its own two files and ca.pem; ca.key stays where certificates are issued.";

#[derive(Subcommand)]
enum CertCommand {
    /// Make an authority, which issues certificates
    #[command(after_help = EXAMPLES)]
    NewCa(NewCa),
    /// Issue a certificate of the authority, for either end of a connection
    #[command(after_help = EXAMPLES)]
    Issue(Issue),
}

#[derive(Args)]
struct FolderArguments {
    /// Folder of the files
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Replace files that are there already
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
struct NewCa {
    #[command(flatten)]
    files: FolderArguments,
    /// Days that the authority is valid
    #[arg(long, value_name = "N", default_value_t = 3_650)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(DAYS_MAX)))]
    days: u32,
}

#[derive(Args)]
struct Issue {
    /// DNS names and IP addresses by which the node is dialled; the files have the first one's name
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    files: FolderArguments,
    /// Days that the certificate is valid
    #[arg(long, value_name = "N", default_value_t = 365)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(DAYS_MAX)))]
    days: u32,
}

impl Cert {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        match self.command {
            CertCommand::NewCa(new) => new.run(),
            CertCommand::Issue(issue) => issue.run(),
        }
    }
}

impl NewCa {
    fn run(self) -> Result<Code, Failed> {
        let key = KeyPair::generate().map_err(internal)?;
        let mut params = authority(&key);
        let until = validity(&mut params, self.days)?;
        let certificate = params.self_signed(&key).map_err(internal)?;
        self.files.write("ca", &certificate.pem(), &key.serialize_pem())?;
        print::line(&format!("valid until {until}; keep {} secret", self.files.path("ca.key")));
        let folder = match self.files.folder.as_path() {
            folder if folder == Path::new(".") => String::new(),
            folder => format!(" --folder {}", quoted(&folder.to_string_lossy())),
        };
        print::line(&format!("next: wigwag cert issue localhost 127.0.0.1{folder}"));
        Ok(Code::Ok)
    }
}

impl Issue {
    fn run(self) -> Result<Code, Failed> {
        let (issuer, authority_file) = self.files.issuer()?;
        let [first, ..] = self.names.as_slice() else { return Ok(Code::Usage) };
        let stem = file_stem(first)?;
        let mut params = CertificateParams::new(self.names.clone())
            .map_err(|error| bad_name(&self.names.join(" "), &error.to_string()))?;
        params.distinguished_name = named(first);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let until = validity(&mut params, self.days)?;
        let key = KeyPair::generate().map_err(internal)?;
        let certificate = params.signed_by(&key, &issuer).map_err(internal)?;
        self.files.write(&stem, &certificate.pem(), &key.serialize_pem())?;
        print::line(&format!("valid until {until} for {}", self.names.join(", ")));

        let ca = quoted(&authority_file);
        let own = format!(
            "--tls-cert {} --tls-key {}",
            quoted(&self.files.path(&format!("{stem}.pem"))),
            quoted(&self.files.path(&format!("{stem}.key")))
        );
        let host = host(self.names.iter().find(|name| !name.starts_with('*')).unwrap_or(first));
        print::line(&format!("wigwag rep tls+tcp://:7001 --echo {own} --tls-client-ca {ca}"));
        print::line(&format!("wigwag req tls+tcp://{host}:7001 hello {own} --tls-ca {ca}"));
        print::line(&format!("wigwag ask tls+tcp://{host}:7001/NAME METHOD {own} --tls-ca {ca}"));
        Ok(Code::Ok)
    }
}

impl FolderArguments {
    fn path(&self, name: &str) -> String {
        match self.folder.as_path() {
            folder if folder == Path::new(".") => name.to_owned(),
            folder => folder.join(name).to_string_lossy().into_owned(),
        }
    }

    /// Writes a certificate and its key, or neither.
    fn write(&self, stem: &str, certificate: &str, key: &str) -> Result<(), Failed> {
        let files = [
            (format!("{stem}.key"), key, KEY_MODE),
            (format!("{stem}.pem"), certificate, CERTIFICATE_MODE),
        ];
        let cannot = |name: &str, error: &io::Error| {
            let what = format!("the file cannot be written: {error}");
            let hint = "give a folder that you may write to with --folder";
            Failed::with_hint(Code::Usage, &what, &self.path(name), hint)
        };
        fs::create_dir_all(&self.folder).map_err(|error| cannot("", &error))?;
        if let Some((there, ..)) = files.iter().find(|(name, ..)| self.folder.join(name).exists())
            && !self.force
        {
            let hint = "give another --folder, or replace it with --force";
            let what = "the file is there already";
            return Err(Failed::with_hint(Code::Usage, what, &self.path(there), hint));
        }
        for (name, text, mode) in &files {
            replace(&self.folder.join(name), text, *mode).map_err(|error| cannot(name, &error))?;
        }
        let [key, certificate] = files.map(|(name, ..)| self.path(&name));
        print::line(&format!("wrote {certificate} and {key}"));
        Ok(())
    }

    /// The authority of the folder, and the path of its certificate.
    fn issuer(&self) -> Result<(Issuer<'static, KeyPair>, String), Failed> {
        let (certificate, key) = (self.path("ca.pem"), self.path("ca.key"));
        let hint = "make an authority there first: wigwag cert new-ca";
        let missing = |path: &str, error: &dyn std::fmt::Display| {
            let what = format!("the authority cannot be read: {error}");
            Failed::with_hint(Code::Usage, &what, path, hint)
        };
        let text = fs::read_to_string(&key).map_err(|error| missing(&key, &error))?;
        let pair = KeyPair::from_pem(&text).map_err(|error| missing(&key, &error))?;
        let params = authority(&pair);
        let text =
            fs::read_to_string(&certificate).map_err(|error| missing(&certificate, &error))?;
        let authority = CertificateDer::from_pem_slice(text.as_bytes())
            .map_err(|error| missing(&certificate, &error))?;
        // It has the key itself, and the name that this command makes of it.
        let has = |part: &[u8]| authority.windows(part.len()).any(|window| window == part);
        if !has(pair.public_key_raw()) || !has(name_of(&pair).as_bytes()) {
            let what = "the certificate is not that of ca.key, or another program has made it";
            return Err(Failed::with_hint(Code::Usage, what, &certificate, hint));
        }
        Ok((Issuer::new(params, pair), certificate))
    }
}

/// Writes a new file, and puts it in place of the one that is there.
fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    // Left by a command that was interrupted.
    let _ = fs::remove_file(&fresh);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&fresh, path)
}

/// The name of the authority with this key. An authority that is made anew has another name, so its
/// certificates are not mistaken for those of the one before.
fn name_of(key: &KeyPair) -> String {
    let identifier = CertificateParams::default().key_identifier(key);
    let digits = identifier.iter().take(4).map(|byte| format!("{byte:02x}"));
    format!("Authority {} (wigwag)", digits.collect::<String>())
}

/// The parameters of the authority with this key.
fn authority(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&name_of(key));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// Makes `params` valid from now on for `days`, and returns the last day.
fn validity(params: &mut CertificateParams, days: u32) -> Result<String, Failed> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(internal)?;
    let now = OffsetDateTime::from_unix_timestamp(now.as_secs().try_into().map_err(internal)?);
    let now = now.map_err(internal)?;
    params.not_before = now - CLOCKS_DIFFER;
    params.not_after = now + Duration::days(days.into());
    Ok(params.not_after.date().to_string())
}

/// A host to dial, whose certificate has `name`; a wildcard stands for one label.
fn host(name: &str) -> String {
    match (name.parse(), name.strip_prefix('*')) {
        (Ok(IpAddr::V6(address)), _) => format!("[{address}]"),
        (_, Some(domain)) => format!("node1{domain}"),
        _ => name.to_owned(),
    }
}

/// The name of the files for a certificate of `name`.
fn file_stem(name: &str) -> Result<String, Failed> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-:*_".contains(letter);
    if name.starts_with('.') || name.is_empty() || !name.chars().all(fits) {
        return Err(bad_name(name, "it has other characters"));
    }
    let stem = name.replace([':', '*'], "_");
    match stem.as_str() {
        "ca" => Err(bad_name(name, "its files would have the names of the authority's")),
        _ => Ok(stem),
    }
}

fn bad_name(name: &str, why: &str) -> Failed {
    let what = format!("this is neither a DNS name nor an IP address: {why}");
    Failed::with_hint(Code::Usage, &what, name, "give names as in node1.example or 10.0.0.7")
}

fn internal(error: impl std::error::Error + Send + Sync + 'static) -> Failed {
    Failed::new(Code::Internal, error)
}
