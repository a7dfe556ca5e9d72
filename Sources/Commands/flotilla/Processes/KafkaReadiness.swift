internal import Telemetry

/// Whether the Kafka clients of this process reach a broker, read from their metrics.
enum KafkaReadiness {
    /// Returns a line for `/readyz` if no client reaches a broker. A client that has not needed a connection
    /// yet has the value NaN and does not count.
    static func problem(in metrics: Metrics) -> String? {
        let brokersUp = metrics.values(of: "flotilla_kafka_brokers_up").map(\.number).filter { !$0.isNaN }
        guard !brokersUp.isEmpty, brokersUp.allSatisfy({ $0 == 0 }) else { return nil }
        return "kafka: no broker can be reached; see the log and deploy/book/trouble/broker-lost.md"
    }
}
