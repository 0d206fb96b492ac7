//! TLS to the database: the certificate is checked, and the name of the host in it.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_postgres_rustls::MakeRustlsConnect;
use trefoil_core::{Error, Part, Result};

use crate::PostgresConfig;

/// What makes TLS connections by a configuration.
pub(crate) fn connector(config: &PostgresConfig) -> Result<MakeRustlsConnect> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = config.root_certificates() {
        let failed = |reason: String| Error::UnreadableDocument {
            path: path.display().to_string(),
            reason: format!("{reason}; give a PEM file of certificates as `sslrootcert`"),
        };
        let certificates = CertificateDer::pem_file_iter(path);
        for certificate in certificates.map_err(|error| failed(error.to_string()))? {
            let certificate = certificate.map_err(|error| failed(error.to_string()))?;
            roots.add(certificate).map_err(|error| failed(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(failed(String::from("it has no certificate")));
        }
    } else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::backend(Part::Store, "set up TLS", error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(client))
}
