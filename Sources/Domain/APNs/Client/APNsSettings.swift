package import Identifiers
package import TLS

/// Hosts, limits and timeouts for APNs. The defaults are Apple's hosts, and limits that follow Apple's rules
/// for providers. No setting makes TLS less strict.
package struct APNsSettings: Sendable {
    /// The hosts of one environment.
    package struct Hosts: Sendable {
        /// For pushes to tokens.
        package var push: Endpoint
        /// For broadcasts to channels.
        package var broadcast: Endpoint
        /// For the management of channels.
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
    /// Certificate authorities that are trusted for these hosts.
    package var trust = TLSTrust.system
    package var pool = PoolSettings()
    /// Time to establish a connection: name lookup, TCP and TLS together. After it the attempt has failed.
    package var connectMilliseconds = 10_000
    /// Time after which bytes without a TCP acknowledgement end the connection.
    package var unacknowledgedMillisecondsMax = 10_000
    /// Interval in which one usual connection to a host may be opened, and one other. All loops of the process share it.
    package var connectIntervalMilliseconds = 1_000
    /// Number of connections that may be opened at once after a pause.
    package var connectBurst = 1
    /// Time after which a pool without pushes and connections is removed. The next push creates it again.
    package var idlePoolMilliseconds = 60_000
    /// Time after which a stopped client closes open connections, if the caller gives no deadline.
    package var stopMilliseconds = 30_000
    /// Limit on the bytes of an answer of the channel hosts. A list of 10,000 channels is longer than an
    /// error.
    package var channelAnswerBytesMax = 2 * 1_024 * 1_024

    package init() {}

    package func hosts(for environment: Environment) -> Hosts {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }
}
