//! `cargo xtask oldest`: what rests on the server's own doing, and on no promise of it, on the oldest server
//! that may serve a mesh. The suites of `cargo xtask test` run on the newest.

use super::nats_server::{OLDEST, VARIABLE, brought};
use crate::run::{Failure, Workspace};

/// The trials: what the server relays from one account to another, and what it does not.
const RELAYS: [&str; 3] = ["aim_a_confirmation", "aim_an_acknowledgements_answer", "_by_a"];

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    let program = brought(workspace, &OLDEST)?;
    let program =
        program.to_str().ok_or_else(|| Failure::new("the target folder's name is no text"))?;
    for relays in RELAYS {
        let tests =
            ["test", "--locked", "-p", "mesh-tests", "--test", "nats_attacks", "--", relays];
        workspace.cargo_with(&tests, &[(VARIABLE, program)])?;
    }
    Ok(())
}
