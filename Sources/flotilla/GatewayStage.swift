internal import Gateway
internal import HTTPServer
internal import Settings
internal import Topics

extension AllSettings {
    static let gatewayListen = Setting(
        "gateway.listen", default: HostPort(host: "127.0.0.1", port: 8080),
        "where the gateway serves /v1; without TLS, so beyond loopback a proxy stands before it; port 0 lets the system choose"
    )
    static let gatewayThreads = Setting(
        "gateway.threads", default: 1, in: 1...64, "threads that read requests and send answers")
    static let gatewayConnections = Setting(
        "gateway.connections", default: 4096, in: 16...100_000,
        "open connections; further ones wait until one closes")
    static let gatewayConnectionsPerPeer = Setting(
        "gateway.connections-per-peer", default: 1024, in: 1...100_000,
        "open connections of one address, a proxy's too; further ones are closed at once")
    static let gatewayKeyRate = Setting(
        "gateway.key-rate", default: 10_000, in: 1...1_000_000,
        "requests a second that one key may make at each gateway; beyond it 429")
    static let gatewayWaiting = Setting(
        "gateway.waiting", default: 20_000, in: 1...60_000,
        "requests that may wait for Kafka; beyond it 503 at once")
    static let gatewayAcknowledge = Setting(
        "gateway.acknowledge-limit", default: Milliseconds(10_000),
        in: Milliseconds(1000)...Milliseconds(60_000),
        "how long a request waits for Kafka's acknowledgement; then 503")

    static let gateway: [Declaration] = [
        gatewayListen.declaration, gatewayThreads.declaration, gatewayConnections.declaration,
        gatewayConnectionsPerPeer.declaration, gatewayKeyRate.declaration, gatewayWaiting.declaration,
        gatewayAcknowledge.declaration,
    ]
}

extension StageKind {
    static let gateway = StageKind(
        name: "gateway", summary: "takes reports over HTTP", topics: [.catalog, .reports]
    ) { surroundings in
        let settings = surroundings.settings
        let listen = settings[AllSettings.gatewayListen]
        var parameters = GatewayService.Parameters(host: listen.host, port: listen.port)
        parameters.http.threads = settings[AllSettings.gatewayThreads]
        parameters.http.connectionsMax = settings[AllSettings.gatewayConnections]
        parameters.http.connectionsPerPeerMax = settings[AllSettings.gatewayConnectionsPerPeer]
        parameters.limits.requestsPerKeyAndSecondMax = settings[AllSettings.gatewayKeyRate]
        parameters.limits.requestsWaitingMax = settings[AllSettings.gatewayWaiting]
        parameters.limits.acknowledgeMilliseconds = settings[AllSettings.gatewayAcknowledge].count
        return GatewayService(parameters, kafka: surroundings.kafka, layout: surroundings.layout)
    }
}
