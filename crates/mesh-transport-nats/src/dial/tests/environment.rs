//! The client reads the machine's CA bundle, although nothing depends on it.

use std::path::Path;
use std::process::Command;

use mesh_core::port::ErrorKind;

use super::{dialled, fake, heard_no_log_in, refused, secured, target_of};
use crate::NatsOptions;

/// Runs one test of this file in a process of its own, with other variables.
fn run(test: &str, variables: &[(&str, &Path)]) {
    let name = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--ignored"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// A directory without any file.
fn nothing() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_machine_without_any_ca_will_do() {
    let empty = nothing();
    run("connects", &[("SSL_CERT_DIR", empty.path())]);
}

#[test]
fn a_variable_that_names_nothing_is_named() {
    let empty = nothing();
    let absent = empty.path().join("absent");
    for variable in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        run(
            "is_refused_for_its_variable",
            &[(variable, &absent), ("MESH_TEST", variable.as_ref())],
        );
    }
}

#[tokio::test]
#[ignore = "run by a_machine_without_any_ca_will_do"]
async fn connects() {
    let fake = fake(secured()).await;
    dialled(&target_of(&fake)).await.unwrap();
}

#[tokio::test]
#[ignore = "run by a_variable_that_names_nothing_is_named"]
async fn is_refused_for_its_variable() {
    let variable = std::env::var("MESH_TEST").unwrap();
    let fake = fake(secured()).await;
    let options = NatsOptions::default();
    let error = refused(&target_of(&fake), &options, ErrorKind::Invalid, false).await;
    let absent = std::env::var(&variable).unwrap();
    assert!(error.contains(&format!("{variable} is {absent:?}")), "{error}");
    heard_no_log_in(&fake).await;
}
