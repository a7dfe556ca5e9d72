internal import Gateway
internal import HTTPServer
internal import Settings
internal import Topics

extension AddressRange: SettingValue {
    package static var kind: String { "an address or a network, such as 10.1.2.3 or 10.0.0.0/8" }
    package init?(settingText: String) { self.init(settingText) }
    package var settingText: String { text }
}

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
    static let gatewayPeerRate = Setting(
        "gateway.peer-rate", default: 2000, in: 1...1_000_000,
        "requests a second with report keys from one address (IPv6: its /64) at each gateway; beyond it 429")
    static let gatewayInstallationRate = Setting(
        "gateway.installation-rate", default: 300, in: 1...1_000_000,
        "reports a minute about one installation with report keys at each gateway; beyond it 429")
    static let gatewayProxies = Setting(
        "gateway.proxies", default: [AddressRange](),
        "the proxies before the gateway, addresses or networks such as 10.0.0.0/8: who calls them is taken from their X-Forwarded-For"
    )
    static let gatewayBodies = Setting(
        "gateway.bodies", default: Bytes(64 << 20), in: Bytes(1 << 20)...Bytes(16 << 30),
        "memory of bodies on their way in, for all connections together; beyond it 503")
    static let gatewayWaiting = Setting(
        "gateway.waiting", default: 20_000, in: 1...60_000,
        "requests that may wait for Kafka; beyond it 503 at once")
    static let gatewayAcknowledge = Setting(
        "gateway.acknowledge-limit", default: Milliseconds(10_000),
        in: Milliseconds(1000)...Milliseconds(60_000),
        "how long a request waits for Kafka's acknowledgement; then 503")

    static let gateway: [Declaration] = [
        gatewayListen.declaration, gatewayThreads.declaration, gatewayConnections.declaration,
        gatewayConnectionsPerPeer.declaration, gatewayKeyRate.declaration, gatewayPeerRate.declaration,
        gatewayInstallationRate.declaration, gatewayProxies.declaration, gatewayBodies.declaration,
        gatewayWaiting.declaration, gatewayAcknowledge.declaration,
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
        parameters.http.bodiesBytesMax = settings[AllSettings.gatewayBodies].count
        parameters.limits.requestsPerPeerAndSecondMax = settings[AllSettings.gatewayPeerRate]
        parameters.limits.reportsPerInstallationAndMinuteMax = settings[AllSettings.gatewayInstallationRate]
        parameters.proxies = settings[AllSettings.gatewayProxies]
        parameters.sealingKeys = surroundings.sealingKeys
        parameters.limits.requestsWaitingMax = settings[AllSettings.gatewayWaiting]
        parameters.limits.acknowledgeMilliseconds = settings[AllSettings.gatewayAcknowledge].count
        return GatewayService(parameters, kafka: surroundings.kafka, layout: surroundings.layout)
    }
}
