package import HTTPServer
package import Settings

/// The settings of one gateway.
package struct GatewaySettings: OperatorSettings {
    package var listen = HostPort(host: "127.0.0.1", port: 8080)
    /// The files of the certificate chain and of its key in PEM. Without them the gateway serves without TLS.
    package var certificateFile: String?
    package var keyFile: String?
    package var http = HTTPLimits()
    package var limits = GatewayLimits()
    /// The proxies whose `X-Forwarded-For` is trusted.
    package var proxies: [AddressRange] = []

    package init() {}

    package static let declared = SettingsGroup(prefix: "gateway", defaults: GatewaySettings()) { declare in
        declare(
            "listen", sets: \.listen,
            "address at which the gateway serves /v1; beyond loopback set gateway.certificate-file and gateway.key-file, or put a TLS proxy before it; port 0 lets the system choose"
        )
        declare(
            "certificate-file", sets: \.certificateFile,
            "PEM file of the gateway's certificate, followed by the intermediate ones; the gateway then serves with TLS, and reads a renewed file within 10 s"
        )
        declare(
            "key-file", sets: \.keyFile, "PEM file of the certificate's private key, without a password")
        declare("threads", sets: \.http.threads, in: 1...64, "threads that read requests and send answers")
        declare(
            "connections", sets: \.http.connectionsMax, in: 16...100_000,
            "open connections; further ones wait until one closes")
        declare(
            "connections-per-peer", sets: \.http.connectionsPerPeerMax, in: 1...100_000,
            "open connections of one address, also of a proxy; further ones are closed at once")

        declare(
            "key-rate", sets: \.limits.requestsPerKeyAndSecondMax, in: 1...1_000_000,
            "requests per second of one key at each gateway; beyond it 429")
        declare(
            "key-bytes", sets: \.limits.bytesPerKeyAndSecondMax, as: ByteSize.self, in: 4 << 20...16 << 30,
            "bytes per second in the bodies of one key at each gateway; beyond it 429")
        declare(
            "key-reports", sets: \.limits.reportsPerKeyAndSecondMax, in: 1000...100_000_000,
            "reports per second of one key at each gateway; beyond it 429")
        declare(
            "peer-rate", sets: \.limits.requestsPerPeerAndSecondMax, in: 1...1_000_000,
            "requests per second with report keys from one address (IPv6: its /64) at each gateway; beyond it 429"
        )
        declare(
            "peer-bytes", sets: \.limits.bytesPerPeerAndSecondMax, as: ByteSize.self, in: 1 << 20...16 << 30,
            "bytes per second in bodies with report keys from one such address at each gateway; beyond it 429"
        )
        declare(
            "peer-reports", sets: \.limits.reportsPerPeerAndSecondMax, in: 1000...100_000_000,
            "reports per second with report keys from one such address at each gateway; beyond it 429")
        declare(
            "peer-installations", sets: \.limits.newInstallationsPerPeerAndHourMax, in: 1...1_000_000_000,
            "new installations per hour with report keys from one such address, if it is public, at each gateway; beyond it 429"
        )
        declare(
            "installation-rate", sets: \.limits.reportsPerInstallationAndMinuteMax, in: 1...1_000_000,
            "reports per minute about one installation with report keys at each gateway; beyond it 429")

        declare(
            "proxies", sets: \.proxies,
            "proxies before the gateway, as addresses or networks such as 10.0.0.0/8; the client address comes from their X-Forwarded-For"
        )

        declare(
            "bodies", sets: \.http.bodiesBytesMax, as: ByteSize.self, in: 1 << 20...16 << 30,
            "memory for incoming bodies of all connections together; beyond it 503")
        declare(
            "answers", sets: \.http.answersBytesMax, as: ByteSize.self, in: 1 << 20...16 << 30,
            "memory for answers of more than 16 KiB on all connections together, until they were sent; beyond it 503"
        )
        declare(
            "waiting", sets: \.limits.requestsWaitingMax, in: 1...60_000,
            "requests that may wait for Kafka; beyond it 503 at once")
        declare(
            "acknowledge-limit", sets: \.limits.acknowledgeMilliseconds, as: Milliseconds.self,
            in: 1000...60_000, "time that a request waits for Kafka's acknowledgement; then 503")
    }
}
