internal import CRdKafka

/// The client library's properties before a client exists. One scope owns it: `take` hands it to the client,
/// otherwise it is freed.
@safe
struct Configuration: ~Copyable {
    /// The time in which a node answers one request. A node that is cut off takes requests and answers none. Kafka needs
    /// 9 s to move its leaders. By then the client has left it and asks the other nodes.
    ///
    /// Kafka itself answers within 5 s that it cannot commit an offset in time. The limit is longer than that.
    static let answerMilliseconds = 6000
    /// The time for a connection with its handshakes, and for the first answer on it.
    private static let connectionMilliseconds = 5000
    private static let firstAnswerMilliseconds = 3000

    private var pointer: OpaquePointer?
    private var problems: [String] = []

    /// Sets the properties that all clients share.
    init(_ settings: KafkaSettings) throws(ConfigurationError) {
        problems = settings.problems()
        unsafe pointer = rd_kafka_conf_new()
        guard problems.isEmpty else { throw ConfigurationError(problems) }
        set("bootstrap.servers", settings.brokers.joined(separator: ","))
        set("client.id", settings.clientID)
        set("socket.nagle.disable", "true")
        set("socket.keepalive.enable", "true")
        set("api.version.request", "true")
        set("log.connection.close", "false")
        set("reconnect.backoff.ms", "50")
        set("reconnect.backoff.max.ms", "2000")
        set("socket.timeout.ms", "\(Self.answerMilliseconds)")
        set("socket.connection.setup.timeout.ms", "\(Self.connectionMilliseconds)")
        set("api.version.request.timeout.ms", "\(Self.firstAnswerMilliseconds)")
        set("statistics.interval.ms", "\(ClientEvents.statisticsMilliseconds)")
        set("security.protocol", settings.security.protocolName)
        if settings.security.usesTLS { setTLS(settings) }
        if settings.security.usesSCRAM {
            set("sasl.mechanism", settings.scram.rawValue)
            set("sasl.username", settings.user ?? "")
            set("sasl.password", settings.passwordFile.flatMap(PasswordFile.read) ?? "")
        }
        for (name, value) in settings.properties.sorted(by: { $0.key < $1.key }) { set(name, value) }
    }

    deinit { unsafe pointer.map { unsafe rd_kafka_conf_destroy($0) } }

    private mutating func setTLS(_ settings: KafkaSettings) {
        set("enable.ssl.certificate.verification", "true")
        set("ssl.endpoint.identification.algorithm", "https")
        settings.certificateAuthorityFile.map { set("ssl.ca.location", $0) }
        settings.certificateFile.map { set("ssl.certificate.location", $0) }
        settings.keyFile.map { set("ssl.key.location", $0) }
        settings.keyPasswordFile.flatMap(PasswordFile.read).map { set("ssl.key.password", $0) }
    }

    /// Sets a property. The library's error text would repeat the value, which may be a secret; these texts
    /// do not.
    mutating func set(_ name: String, _ value: String) {
        let result = unsafe rd_kafka_conf_set(pointer, name, value, nil, 0)
        guard result != RD_KAFKA_CONF_OK else { return }
        if OwnedProperties.contains(name) {
            problems.append("the kafka client refuses the value of \(name); check the setting behind it")
        } else if result == RD_KAFKA_CONF_UNKNOWN {
            problems.append(
                "kafka.properties sets \(name), which the kafka client does not know; remove it")
        } else {
            problems.append("kafka.properties sets \(name) to a value that the kafka client does not allow")
        }
    }

    /// Returns the finished configuration for `rd_kafka_new`, which frees it on success.
    consuming func take() throws(ConfigurationError) -> OpaquePointer {
        guard problems.isEmpty else { throw ConfigurationError(problems) }
        defer { unsafe pointer = nil }
        return unsafe pointer!
    }

    /// The configuration, for calls that set callbacks and other non-properties.
    var unfinished: OpaquePointer { unsafe pointer! }
}
