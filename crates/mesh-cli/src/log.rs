//! What is logged: nothing, unless `MESH_LOG` asks for it.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::shell::Failure;

/// The libraries that log each word of a server's at level INFO, answers to probes among them.
const CHATTY: [&str; 2] = ["async_nats", "lapin"];

/// Logs to stderr what `MESH_LOG` asks for, in plain text.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn init() -> Result<(), Failure> {
    let Some(asked) = std::env::var_os("MESH_LOG").filter(|asked| !asked.is_empty()) else {
        return Ok(());
    };
    let filter = match asked.to_str() {
        None => Err("not UTF-8".to_owned()),
        Some(asked) => understood(asked),
    };
    let filter = filter.map_err(|error| {
        let hint =
            "write a level, such as `debug`, or levels of parts, such as `mesh_sdk=trace,warn`";
        Failure::new(format!("MESH_LOG={asked:?}: {error}"), hint)
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    Ok(())
}

/// A word alone is a level: as the name of a part, a level with a slip in it would log nothing.
fn understood(asked: &str) -> Result<EnvFilter, String> {
    let is_level = |part: &&str| part.parse::<LevelFilter>().is_ok();
    let is_part = |part: &&str| part.is_empty() || part.contains(['=', '[', ']']);
    let mut parts = asked.split(',').map(str::trim);
    if let Some(word) = parts.find(|part| !is_level(part) && !is_part(part)) {
        let levels = "off, error, warn, info, debug or trace";
        return Err(format!("{word:?} is no level ({levels})"));
    }
    EnvFilter::builder().parse(completed(asked)).map_err(|error| error.to_string())
}

/// The same, with what is chatty at `warn` where everything else is more: unless it is named.
fn completed(asked: &str) -> String {
    let more =
        |part: &str| part.parse::<LevelFilter>().is_ok_and(|level| level > LevelFilter::WARN);
    let parts = || asked.split(',').map(str::trim);
    let mut completed = asked.to_owned();
    if parts().any(more) {
        for chatty in CHATTY.iter().filter(|name| !parts().any(|part| part.starts_with(**name))) {
            completed.push_str(&format!(",{chatty}=warn"));
        }
    }
    completed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_with_a_slip_in_it_is_refused() {
        for slip in ["debgu", "mesh_sdk", "mesh_sdk=trace,wran"] {
            assert!(understood(slip).is_err_and(|told| told.contains("is no level")), "{slip}");
        }
        for good in ["debug", "WARN", "3", "mesh_sdk=trace, info", "[handle]=debug", "info,"] {
            assert!(understood(good).is_ok(), "{good}");
        }
        assert!(understood("mesh_sdk=bogus").is_err());
    }

    #[test]
    fn what_is_chatty_is_at_warn_unless_it_is_named_or_everything_is_less() {
        for (asked, filter) in [
            ("debug", "debug,async_nats=warn,lapin=warn"),
            ("mesh_sdk=trace, INFO", "mesh_sdk=trace, INFO,async_nats=warn,lapin=warn"),
            ("error", "error"),
            ("off", "off"),
            ("mesh_sdk=trace", "mesh_sdk=trace"),
            ("debug,async_nats=trace", "debug,async_nats=trace,lapin=warn"),
            (
                "async_nats::connector=info,lapin=info,debug",
                "async_nats::connector=info,lapin=info,debug",
            ),
        ] {
            assert_eq!(completed(asked), filter);
            assert!(EnvFilter::builder().parse(filter).is_ok(), "{filter}");
        }
    }
}
