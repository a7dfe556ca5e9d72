package import LiveActivity
package import TLS

/// Where APNs is and how it is spoken to. The defaults are Apple's hosts and limits that keep to what
/// Apple asks of a provider. There is no switch that makes TLS less strict.
package struct APNsSettings: Sendable {
    /// The hosts of one environment.
    package struct Hosts: Sendable {
        package var push: Endpoint
        package var broadcast: Endpoint
        package var channels: Endpoint

        package init(push: Endpoint, broadcast: Endpoint, channels: Endpoint) {
            self.push = push
            self.broadcast = broadcast
            self.channels = channels
        }
    }

    package var production = Hosts(
        push: Endpoint(host: "api.push.apple.com"), broadcast: Endpoint(host: "api.push.apple.com"),
        channels: Endpoint(host: "api-manage-broadcast.push.apple.com", port: 2196))
    package var sandbox = Hosts(
        push: Endpoint(host: "api.sandbox.push.apple.com"),
        broadcast: Endpoint(host: "api.sandbox.push.apple.com"),
        channels: Endpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195))
    /// Who may vouch for these hosts.
    package var trust = TLSTrust.system
    package var pool = PoolSettings()
    /// A connection that is not there by then has failed: name, TCP and TLS together.
    package var connectMilliseconds = 10_000
    /// Bytes that APNs does not acknowledge for so long end the connection.
    package var unacknowledgedMilliseconds = 10_000
    /// One connection to a host in so long, after a burst; all loops of the process together.
    package var connectIntervalMilliseconds = 1_000
    package var connectsBurst = 1
    /// A pool without pushes and connections goes after so long, and comes back with the next push.
    package var idlePoolMilliseconds = 60_000
    /// A client that is told to stop closes what is still open after so long, where nobody says how long.
    package var stopMilliseconds = 30_000
    /// Bytes of an answer on the channel hosts: a list of 10,000 channels has more than an error.
    package var channelAnswerBytesMax = 2 * 1_024 * 1_024

    package init() {}

    package func hosts(_ environment: Environment) -> Hosts {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }
}
