internal import CRdKafka

/// The client library's properties before a client exists. One scope owns it: `takePointer` hands it to the
/// client, otherwise it is freed.
@safe
struct ClientConfiguration: ~Copyable {
    /// The longest wait for a broker's answer to one request.
    ///
    /// A broker that is cut off accepts requests and answers none. Kafka needs 9 s to move its partitions to other
    /// leaders. With this limit, the client has left the broker by then and asks the others. The limit is above 5 s,
    /// because a healthy broker may take so long to answer that it could not commit an offset.
    static let responseMillisecondsMax = 6000
    /// The longest wait for a connection with its handshakes, and for the first answer on it.
    private static let connectionSetupMilliseconds = 5000
    private static let firstResponseMilliseconds = 3000

    /// Nil after `takePointer`.
    private var pointer: OpaquePointer?
    /// One sentence for each property that the library refuses.
    private var problems: [String] = []

    /// Sets the properties that all clients share. The operator's own properties come last.
    init(_ settings: KafkaSettings) throws(ConfigurationError) {
        problems = settings.problems()
        unsafe pointer = rd_kafka_conf_new()
        guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
        set("bootstrap.servers", to: settings.brokers.joined(separator: ","))
        set("client.id", to: settings.clientID)
        set("socket.nagle.disable", to: "true")
        set("socket.keepalive.enable", to: "true")
        set("api.version.request", to: "true")
        set("log.connection.close", to: "false")
        set("reconnect.backoff.ms", to: "50")
        set("reconnect.backoff.max.ms", to: "2000")
        set("socket.timeout.ms", to: "\(Self.responseMillisecondsMax)")
        set("socket.connection.setup.timeout.ms", to: "\(Self.connectionSetupMilliseconds)")
        set("api.version.request.timeout.ms", to: "\(Self.firstResponseMilliseconds)")
        set("statistics.interval.ms", to: "\(ClientEvents.statisticsIntervalMilliseconds)")
        set("security.protocol", to: settings.security.protocolName)
        if settings.security.usesTLS { setTLSProperties(from: settings) }
        if settings.security.usesSCRAM {
            set("sasl.mechanism", to: settings.scramMechanism.rawValue)
            set("sasl.username", to: settings.user ?? "")
            set("sasl.password", to: settings.passwordFile.flatMap(PasswordFile.read) ?? "")
        }
        for (name, value) in settings.properties.sorted(by: { $0.key < $1.key }) { set(name, to: value) }
    }

    deinit { unsafe pointer.map { unsafe rd_kafka_conf_destroy($0) } }

    private mutating func setTLSProperties(from settings: KafkaSettings) {
        set("enable.ssl.certificate.verification", to: "true")
        set("ssl.endpoint.identification.algorithm", to: "https")
        settings.certificateAuthorityFile.map { set("ssl.ca.location", to: $0) }
        settings.certificateFile.map { set("ssl.certificate.location", to: $0) }
        settings.keyFile.map { set("ssl.key.location", to: $0) }
        settings.keyPasswordFile.flatMap(PasswordFile.read).map { set("ssl.key.password", to: $0) }
    }

    /// Sets a property. The library's error text would repeat the value, which may be a secret; these texts
    /// do not.
    mutating func set(_ name: String, to value: String) {
        let result = unsafe rd_kafka_conf_set(pointer, name, value, nil, 0)
        guard result != RD_KAFKA_CONF_OK else { return }
        if ReservedProperties.contains(name) {
            problems.append("the kafka client refuses the value of \(name); check the setting behind it")
        } else if result == RD_KAFKA_CONF_UNKNOWN {
            problems.append(
                "kafka.properties sets \(name), which the kafka client does not know; remove it")
        } else {
            problems.append("kafka.properties sets \(name) to a value that the kafka client does not allow")
        }
    }

    /// Returns the finished configuration for `rd_kafka_new`, which frees it on success.
    consuming func takePointer() throws(ConfigurationError) -> OpaquePointer {
        guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
        defer { unsafe pointer = nil }
        return unsafe pointer!
    }

    /// The configuration, for calls that set callbacks and other non-properties.
    var borrowedPointer: OpaquePointer { unsafe pointer! }
}
