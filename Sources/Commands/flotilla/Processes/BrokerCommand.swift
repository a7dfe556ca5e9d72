package import Broker
internal import Lifecycle
package import Settings

/// The setting `broker.flush`: when a record is on disk, before its acknowledgement or later.
enum BrokerFlush: String, CaseIterable, SettingValue {
    case everyAck = "every-ack"
    case os = "os"

    var policy: FlushPolicy { self == .everyAck ? .everyAck : .os }
}

/// The settings of the embedded broker, in `flotilla broker` and in `flotilla up`.
extension BrokerSettings: OperatorSettings {
    package static let declared = SettingsGroup(prefix: "broker", defaults: operatorDefaults) { declare in
        declare(
            "data", sets: \.dataDirectory,
            "directory with the embedded broker's records; created if it is missing")
        declare(
            "listen", sets: \.listen,
            "address on which the embedded broker listens; port 0 lets the system choose")
        declare(
            "allow-remote", sets: \.allowRemote,
            "allows the embedded broker to listen beyond loopback; it has no TLS and no users")
        declare(
            "advertise", sets: \.advertise,
            "host and port that the broker tells clients to connect to, if they differ from broker.listen")
        declare(
            "flush", sets: \.brokerFlush,
            """
            every-ack answers acks=all when the records are on disk; os leaves the write to the operating system, \
            which is faster, but a crash of the machine loses up to half a minute of records
            """)
    }

    /// The defaults of the command. The port is Kafka's own.
    private static var operatorDefaults: BrokerSettings {
        var settings = BrokerSettings(dataDirectory: "")
        settings.port = 9092
        return settings
    }

    // Values of `BrokerSettings` in the form of the settings above.

    private var listen: HostPort {
        get { HostPort(host: host, port: port) }
        set { (host, port) = (newValue.host, newValue.port) }
    }

    private var advertise: HostPort? {
        get {
            guard let advertisedHost, let advertisedPort else { return nil }
            return HostPort(host: advertisedHost, port: advertisedPort)
        }
        set { (advertisedHost, advertisedPort) = (newValue?.host, newValue?.port) }
    }

    private var brokerFlush: BrokerFlush {
        get { flush == .everyAck ? .everyAck : .os }
        set { flush = newValue.policy }
    }
}

extension Command {
    /// `flotilla broker`: one node that speaks Kafka's protocol, for one machine.
    static let broker = Command(
        name: "broker",
        summary: "Runs the embedded broker: one node that speaks Kafka's protocol, for one machine.",
        usage: "--data DIR [--listen HOST:PORT]",
        example: "flotilla broker --data /var/lib/flotilla/broker --listen 127.0.0.1:9092",
        namespace: "broker", settings: ["broker.", "admin.", "log.", "lifecycle."], runsUntilStopped: true
    ) { invocation in
        try invocation.requireNoPositionals()
        let settings = invocation.settings[BrokerSettings.self]
        guard !settings.dataDirectory.isEmpty else {
            throw CommandError(status: .usage, "broker.data is not set; name a directory with --data")
        }
        let process = RunningProcess(settings: invocation.settings)
        let admin = AdminService(settings: invocation.settings)
        let service = BrokerService(settings: settings)
        try await process.run([admin, service]) { admin.beginServing() }
    }
}
