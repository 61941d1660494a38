//! What is no way in, and what is said about it.

use mesh_sdk::{ConnectError, connect};

use crate::memory::Memory;
use crate::{Files, Ground};

async fn refused(document: &str) -> ConnectError {
    let files = Files::new();
    std::fs::write(files.path("mail"), document).unwrap();
    let error = connect(files.path("mail")).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("s3cr3t"), "{text}");
    error
}

#[tokio::test]
async fn a_bootstrap_url_is_nobodys() {
    for document in ["tls://boot:s3cr3t@bus.example", r#"{"url": "mem:"}"#] {
        let error = refused(document).await;
        assert!(matches!(error, ConnectError::Bootstrap { .. }), "{error}");
        assert!(error.to_string().contains("mail.json: this is a bootstrap URL"), "{error}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_said_with_its_name() {
    let error = connect("/nowhere/mail.json").await.unwrap_err().to_string();
    assert!(error.contains("/nowhere/mail.json") && error.contains("No such file"), "{error}");
    let half = r#"{"url": "tls://mail:s3cr3t@h", "node": "n1", "module": "mail"}"#;
    let error = refused(half).await.to_string();
    assert!(error.contains("mail.json") && error.contains("fingerprint: missing"), "{error}");
}

#[tokio::test]
async fn a_mesh_that_listens_no_more_is_not_found() {
    let memory = Memory::raise("gone").await;
    let mail = memory.credential("mail");
    drop(memory);
    let files = Files::new();
    files.put("mail", &mail);
    let error = connect(files.path("mail")).await.unwrap_err().to_string();
    assert!(error.contains("mem:gone") && error.contains("no mesh of this process"), "{error}");
}
