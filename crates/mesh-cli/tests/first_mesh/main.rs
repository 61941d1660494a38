//! The page of the first mesh, as somebody follows it: every file is written, every command run, in an empty folder,
//! and each says what the page shows.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]
#![expect(clippy::print_stdout, reason = "the modules say what they do")]

mod page;
mod shop;
mod stock;

use std::env;

/// Which module this program plays, where it is not the test.
const PLAYS: &str = "FIRST_MESH_PLAYS";

fn main() {
    let Ok(module) = env::var(PLAYS) else { return page::follow() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let played = runtime.block_on(async {
        match module.as_str() {
            "stock" => stock::stock().await,
            "shop" => shop::shop().await,
            other => panic!("nobody plays {other}"),
        }
    });
    played.unwrap();
}
