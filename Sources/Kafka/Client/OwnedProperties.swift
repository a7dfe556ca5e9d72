/// The client library's properties that are not the operator's: what is promised about loss, order
/// and doubles, and how peers are verified, rests on the values given here.
enum OwnedProperties {
    static func contains(_ name: String) -> Bool { names.contains(name) }

    private static let names: Set<String> = [
        // Given by settings of their own, or derived.
        "bootstrap.servers", "metadata.broker.list", "client.id", "security.protocol", "ssl.ca.location",
        "ssl.certificate.location", "ssl.key.location", "ssl.key.password", "sasl.mechanism",
        "sasl.mechanisms", "sasl.username", "sasl.password", "group.id", "group.instance.id",
        "transactional.id",
        // Whom we talk to is always verified.
        "enable.ssl.certificate.verification", "ssl.endpoint.identification.algorithm",
        // What is acknowledged is stored, once and in order.
        "acks", "request.required.acks", "api.version.request", "enable.idempotence", "max.in.flight",
        "max.in.flight.requests.per.connection", "partitioner", "transaction.timeout.ms",
        // What is read is what was committed, and nothing is skipped.
        "enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset", "isolation.level",
        "partition.assignment.strategy", "session.timeout.ms", "max.poll.interval.ms", "check.crcs",
        "enable.partition.eof", "allow.auto.create.topics",
        // Bounds that a stage sets for itself, and what its speed rests on.
        "linger.ms", "queue.buffering.max.ms", "compression.type", "compression.codec", "compression.level",
        "message.max.bytes",
        "queue.buffering.max.messages", "queue.buffering.max.kbytes", "queued.max.messages.kbytes",
        "fetch.wait.max.ms", "message.timeout.ms", "delivery.timeout.ms", "heartbeat.interval.ms",
        "fetch.error.backoff.ms", "socket.nagle.disable", "socket.keepalive.enable", "statistics.interval.ms",
    ]

    /// Whether a name asks for a secret: those are given by files, never in a list that is shown.
    static func isSecret(_ name: String) -> Bool {
        name.contains("password") || name.contains("secret") || name.hasSuffix(".pem")
            || name.contains("oauthbearer")
    }
}
