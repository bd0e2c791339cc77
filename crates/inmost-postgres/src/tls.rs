//! TLS to the server, always verified in full.

use std::path::Path;

use inmost_storage::StorageError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What makes TLS connections that trust the authorities of this machine, or only those of a file.
pub(super) fn connector(roots: Option<&Path>) -> Result<MakeRustlsConnect, StorageError> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unavailable(&error.to_string()))?
        .with_root_certificates(authorities(roots)?)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn authorities(roots: Option<&Path>) -> Result<RootCertStore, StorageError> {
    let mut store = RootCertStore::empty();
    match roots {
        None => {
            // Some systems hold certificates that do not parse; the others count.
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(path) => {
            let read = |error: &dyn std::fmt::Display| {
                unavailable(&format!(
                    "the certificates in {} cannot be read: {error}",
                    path.display()
                ))
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| read(&error))? {
                let certificate = certificate.map_err(|error| read(&error))?;
                store.add(certificate).map_err(|error| read(&error))?;
            }
        }
    }
    if store.is_empty() {
        return Err(unavailable(
            "there is no certificate of an authority to verify the server with; name a file with sslrootcert in the URL",
        ));
    }
    Ok(store)
}

fn unavailable(why: &str) -> StorageError {
    StorageError::Unavailable(why.to_owned())
}
