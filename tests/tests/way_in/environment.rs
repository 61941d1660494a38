//! Who one is, in a process whose environment says otherwise.

use std::process::Command;

use mesh_sdk::{Broker, connect, credential_path};

use crate::memory::Memory;
use crate::{Files, Ground, Modules};

/// Is set in the process that is started again: what it writes to is the file of this test and no other.
const AGAIN: &str = "MESH_TEST_OF_THE_ENVIRONMENT";
const OTHERS: [(&str, &str); 2] = [("MESH_NODE", "n2"), ("MESH_MODULE", "vault")];

/// Starts itself once again with the environment that it is about.
#[tokio::test]
async fn an_event_carries_the_credentials_names_whatever_the_environment_says() {
    if std::env::var_os(AGAIN).is_some() {
        return in_another_environment().await;
    }
    let files = Files::new();
    let name = "environment::an_event_carries_the_credentials_names_whatever_the_environment_says";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(AGAIN, "1")
        .env("MESH_CREDENTIAL", files.path("mail"))
        .envs(OTHERS)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    for (variable, says, is) in [("MESH_NODE", "n2", "n1"), ("MESH_MODULE", "vault", "mail")] {
        let told = format!("variable=\"{variable}\" says=\"{says}\" is=\"{is}\"");
        assert!(said.contains(&told), "{told}, in {said}");
    }
}

async fn in_another_environment() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let memory = Memory::raise("environment").await;
    let mut modules = Modules::start(&memory).await;
    // Again, by the path that the environment gives.
    let path = credential_path().unwrap();
    std::fs::write(&path, memory.credential("mail").to_document().unwrap().expose()).unwrap();
    modules.mail = Broker::builder(connect(path).await.unwrap()).build().unwrap();
    assert_eq!(modules.mail.principal().to_string(), "module mail on n1");
    modules.talk("hello").await;
}
