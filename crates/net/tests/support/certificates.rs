//! An authority and the certificates that it issues, made in memory for one test.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData,
    RevocationReason, RevokedCertParams, SerialNumber, date_time_ymd,
};

/// An authority with a key of its own.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate chain and its private key, in PEM.
pub(crate) struct Issued {
    pub(crate) chain: String,
    pub(crate) key: String,
    serial: u64,
}

#[allow(dead_code, reason = "each test binary needs a part of it")]
impl Issued {
    /// The public key with its algorithm (SubjectPublicKeyInfo), in DER.
    pub(crate) fn public_key(&self) -> Vec<u8> {
        KeyPair::from_pem(&self.key).expect("our key").subject_public_key_info()
    }
}

/// The properties of a certificate; the default is valid now, for localhost and both ends.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) names: &'static [&'static str],
    /// The first and last years of its validity.
    pub(crate) years: (i32, i32),
    pub(crate) usages: &'static [ExtendedKeyUsagePurpose],
    pub(crate) serial: u64,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            names: &["localhost", "127.0.0.1", "::1"],
            years: (2020, 2120),
            usages: &[ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
            serial: 1,
        }
    }
}

#[allow(dead_code, reason = "each test binary needs a part of it")]
impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// The certificate of the authority.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// The certificate of the authority, with its key, as if it were that of an end.
    pub(crate) fn itself(&self) -> Issued {
        Issued { chain: self.pem(), key: self.0.key().serialize_pem(), serial: 0 }
    }

    pub(crate) fn issue(&self, request: Request) -> Issued {
        let Request { names, years, usages, serial } = request;
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(DnType::CommonName, format!("certificate {serial}"));
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        params.extended_key_usages = usages.to_vec();
        params.serial_number = Some(SerialNumber::from(serial));
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &*self.0).expect("a certificate");
        Issued { chain: certificate.pem(), key: key.serialize_pem(), serial }
    }

    /// A revocation list with `revoked`.
    pub(crate) fn revoke(&self, revoked: &[&Issued]) -> String {
        let revoked = revoked.iter().map(|issued| RevokedCertParams {
            serial_number: SerialNumber::from(issued.serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: Some(RevocationReason::KeyCompromise),
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2120, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.0).expect("a list").pem().expect("in PEM")
    }
}
