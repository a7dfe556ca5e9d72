package import Settings
package import Telemetry

/// An HTTP listener without TLS.
package enum PlainTextListener {
    /// Logs a warning if other machines can reach the listener, because its traffic can be read on the way.
    ///
    /// - Parameter remedy: the advice, for example to put a proxy before the listener.
    package static func warn(about listen: HostPort, remedy: String, log: Log) {
        guard !listen.isLoopback else { return }
        log.warning(
            "listens beyond this machine without TLS, so secrets and tokens can be read on the way",
            .field("address", "\(listen.host):\(listen.port)"), .field("remedy", remedy))
    }
}
