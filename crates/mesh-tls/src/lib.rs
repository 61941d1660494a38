//! The TLS trust of mesh: a certificate pinned by its fingerprint.
