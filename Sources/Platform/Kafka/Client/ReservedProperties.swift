/// The client library's properties that an operator may not set. The guarantees about loss, order and
/// duplicates, and the verification of peers, depend on the values that Flotilla gives them.
enum ReservedProperties {
    static func contains(_ name: String) -> Bool { names.contains(name) }

    private static let names: Set<String> = [
        // Properties with a setting, or derived from one.
        "bootstrap.servers", "metadata.broker.list", "client.id", "security.protocol", "ssl.ca.location",
        "ssl.certificate.location", "ssl.key.location", "ssl.key.password", "sasl.mechanism",
        "sasl.mechanisms", "sasl.username", "sasl.password", "group.id", "group.instance.id",
        "transactional.id",
        // Peers are always verified.
        "enable.ssl.certificate.verification", "ssl.endpoint.identification.algorithm",
        // Acknowledged records are stored, once and in order.
        "acks", "request.required.acks", "api.version.request", "enable.idempotence", "max.in.flight",
        "max.in.flight.requests.per.connection", "partitioner", "transaction.timeout.ms",
        // Readers see only committed records and skip none.
        "enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset", "isolation.level",
        "partition.assignment.strategy", "session.timeout.ms", "max.poll.interval.ms", "check.crcs",
        "enable.partition.eof", "allow.auto.create.topics",
        // Limits that a stage sets for itself, and settings that decide its speed.
        "linger.ms", "queue.buffering.max.ms", "compression.type", "compression.codec", "compression.level",
        "message.max.bytes",
        "queue.buffering.max.messages", "queue.buffering.max.kbytes", "queued.max.messages.kbytes",
        "fetch.wait.max.ms", "message.timeout.ms", "delivery.timeout.ms", "heartbeat.interval.ms",
        "fetch.error.backoff.ms", "socket.nagle.disable", "socket.keepalive.enable", "statistics.interval.ms",
    ]

    /// Returns whether a property holds a secret. Secrets come from files, because the list of properties is
    /// shown.
    static func isSecret(_ name: String) -> Bool {
        name.contains("password") || name.contains("secret") || name.hasSuffix(".pem")
            || name.contains("oauthbearer")
    }
}
