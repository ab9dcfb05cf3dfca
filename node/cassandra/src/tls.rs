//! TLS: the authorities that may sign the certificates of nodes come from a file.
//!
//! The certificate of a node must name its IP address, which is what the driver connects to. Leaves
//! out certificates of clients: who may connect is decided by user and password.

use alloc::sync::Arc;
use core::fmt;
use std::path::Path;

use milepost::{Error, ErrorKind};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// The configuration of connections to nodes with certificates of the authorities in this file
///
/// # Errors
///
/// When the file cannot be read or holds no certificate
pub(crate) fn config(path: &Path) -> Result<Arc<ClientConfig>, Error> {
    let invalid = |detail: &dyn fmt::Display| {
        let detail = format_args!("tls-ca {}: {detail}", path.display());
        Error::new(ErrorKind::Storage, detail)
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| invalid(&error))? {
        let certificate = certificate.map_err(|error| invalid(&error))?;
        roots.add(certificate).map_err(|error| invalid(&error))?;
    }
    if roots.is_empty() {
        return Err(invalid(&"no certificate in PEM"));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(|error| invalid(&error))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let missing = config(&path).unwrap_err();
        assert!(missing.detail().contains("ca.pem"), "{missing}");
        fs::write(&path, "no certificate").unwrap();
        let empty = config(&path).unwrap_err();
        assert!(empty.detail().ends_with("ca.pem: no certificate in PEM"), "{empty}");
        fs::write(&path, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        let damaged = config(&path).unwrap_err();
        assert!(damaged.detail().contains("ca.pem"), "{damaged}");
    }
}
