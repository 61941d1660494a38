//! What only `rabbitmqctl` can ask of a node: an alarm, a closed connection.

use std::process::Command;

use super::RabbitServer;
use crate::servers::ServerError;
use crate::servers::port::Port;

impl RabbitServer {
    /// Runs `rabbitmqctl` on this node with these arguments; what it prints. Takes about a second:
    /// [`management`](Self::management) is faster for what it can do.
    ///
    /// # Errors
    /// [`ServerError::Refused`] with what it printed, if it did not do it; [`ServerError::Io`].
    pub async fn control(&self, arguments: &[&str]) -> Result<String, ServerError> {
        let doing = || ServerError::io(format!("running rabbitmqctl {}", arguments.join(" ")));
        // Its own end of the connection to the node, on loopback like everything else.
        let port = Port::reserve().map_err(doing())?;
        let number = port.address().port().to_string();
        let mut command = Command::new(self.home.folder.join("sbin/rabbitmqctl"));
        command
            .env_clear()
            .envs(self.site.environment())
            .env("RABBITMQ_CTL_DIST_PORT_MIN", &number)
            .env("RABBITMQ_CTL_DIST_PORT_MAX", &number)
            .env(
                "RABBITMQ_CTL_ERL_ARGS",
                "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
            )
            .current_dir(self.site.folder())
            .args(arguments);
        let running = tokio::task::spawn_blocking(move || command.output()).await;
        let output = running.map_err(std::io::Error::other).and_then(|run| run).map_err(doing())?;
        drop(port);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(printed);
        }
        let told = String::from_utf8_lossy(&output.stderr);
        Err(ServerError::Refused(format!("{printed}{told}")))
    }
}
