internal import Broker
internal import Lifecycle
internal import Settings

/// When an acknowledged record must be on the disk.
enum BrokerFlush: String, CaseIterable, SettingValue {
    case everyAck = "every-ack"
    case os = "os"

    var policy: FlushPolicy { self == .everyAck ? .everyAck : .os }
}

extension AllSettings {
    static let brokerData = Setting(
        "broker.data", default: "",
        "the directory with the embedded broker's records; made if it is not there")
    static let brokerListen = Setting(
        "broker.listen", default: HostPort(host: "127.0.0.1", port: 9092),
        "where the embedded broker listens; port 0 lets the system choose")
    static let brokerAllowRemote = Setting(
        "broker.allow-remote", default: false,
        "lets the embedded broker listen beyond loopback; it has no TLS and no users")
    static let brokerAdvertise = Setting(
        "broker.advertise", default: HostPort?.none,
        "the host and port that clients are told to connect to, where it differs from where it listens")
    static let brokerFlush = Setting(
        "broker.flush", default: BrokerFlush.everyAck,
        """
        every-ack answers acks=all when the records are on disk; os leaves that to the operating system: \
        faster, and a crash of the machine loses what it had not written, up to half a minute
        """)

    static let broker: [Declaration] = [
        brokerData.declaration, brokerListen.declaration, brokerAllowRemote.declaration,
        brokerAdvertise.declaration, brokerFlush.declaration,
    ]
}

extension Command {
    /// One node that speaks Kafka's protocol, for one machine.
    static let broker = Command(
        name: "broker",
        summary: "Runs the embedded broker: one node that speaks Kafka's protocol, for one machine.",
        usage: "--data DIR [--listen HOST:PORT]",
        example: "flotilla broker --data /var/lib/flotilla/broker --listen 127.0.0.1:9092",
        namespace: "broker", settings: ["broker.", "admin.", "log.", "lifecycle."], runsUntilStopped: true
    ) { invocation in
        try invocation.refuseWords()
        let data = invocation.settings[AllSettings.brokerData]
        guard !data.isEmpty else {
            throw Refusal(status: .usage, "broker.data is not set; name a directory with --data")
        }
        let process = RunningProcess(invocation.settings)
        let admin = AdminService(invocation.settings)
        let service = BrokerService(try brokerSettings(invocation.settings, data: data))
        try await process.run([admin, service]) { admin.beginServing() }
    }

    static func brokerSettings(_ settings: ResolvedSettings, data: String) throws -> BrokerSettings {
        var broker = BrokerSettings(dataDirectory: data)
        broker.host = settings[AllSettings.brokerListen].host
        broker.port = settings[AllSettings.brokerListen].port
        broker.allowRemote = settings[AllSettings.brokerAllowRemote]
        broker.flush = settings[AllSettings.brokerFlush].policy
        if let advertised = settings[AllSettings.brokerAdvertise] {
            broker.advertisedHost = advertised.host
            broker.advertisedPort = advertised.port
        }
        return broker
    }
}
