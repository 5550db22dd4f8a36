//! Whom encrypted connections trust.

use std::sync::Arc;

use tokio::sync::OnceCell;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::blocking::blocking;

/// The authorities whose certificates are believed.
#[derive(Clone, Debug, Default)]
pub enum Roots {
    /// Those of this machine. They are looked for where its TLS libraries look, which
    /// includes the place that `SSL_CERT_FILE` names.
    #[default]
    OfThisMachine,
    /// These, as DER, and no others.
    Only(Vec<Vec<u8>>),
}

/// What is needed for encrypted connections, made when the first of them is opened.
#[derive(Debug)]
pub(super) struct Tls {
    roots: Roots,
    made: OnceCell<Arc<ClientConfig>>,
}

impl Tls {
    pub(super) fn new(roots: Roots) -> Self {
        Self {
            roots,
            made: OnceCell::new(),
        }
    }

    /// The configuration, or why there is none.
    pub(super) async fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let roots = self.roots.clone();
        let make = || async move {
            // Reading the machine's certificates takes many small files.
            let made = blocking(move || Ok(config(roots))).await;
            made.unwrap_or_else(|ended| Err(ended.message))
        };
        self.made.get_or_try_init(make).await.cloned()
    }
}

fn config(roots: Roots) -> Result<Arc<ClientConfig>, String> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::OfThisMachine => {
            let found = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(found.certs);
            if store.is_empty() {
                let why = found.errors.first().map(ToString::to_string);
                let why = why.map_or_else(String::new, |why| format!(" ({why})"));
                return Err(format!(
                    "this machine has no certificates of authorities{why}; install `ca-certificates`"
                ));
            }
        }
        Roots::Only(certificates) => {
            for certificate in certificates {
                let certificate = CertificateDer::from(certificate);
                store.add(certificate).map_err(|error| error.to_string())?;
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
