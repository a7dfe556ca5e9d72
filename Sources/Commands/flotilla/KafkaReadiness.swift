internal import Telemetry

/// The answer of the Kafka clients of a process to the question whether they reach a broker.
enum KafkaReadiness {
    /// Returns a line for `/readyz` if no client of the process reaches a broker. Clients that have not needed a
    /// connection have no figure.
    static func problem(in metrics: Metrics) -> String? {
        let known = metrics.values(of: "flotilla_kafka_brokers_up").map(\.number).filter { !$0.isNaN }
        guard !known.isEmpty, known.allSatisfy({ $0 == 0 }) else { return nil }
        return "kafka: no broker can be reached; see the log and deploy/book/trouble/broker-lost.md"
    }
}
