internal import Lifecycle
internal import Telemetry

/// The metrics of one client. Only the thread that polls the client calls it.
final class ClientMetrics {
    private let metrics: Metrics
    private let client: String
    private let queuedRecords: Gauge
    private let queuedBytes: Gauge
    private let brokersUp: Gauge
    private let roundTrip: Gauge
    private let assigned: Gauge
    private let throttledSeconds: Gauge
    private let produceSeconds: Histogram
    private let transactionSeconds: Histogram
    private var lags: [TopicPartition: Gauge] = [:]
    private var stableAges: [TopicPartition: Gauge] = [:]
    private var ages = StableOffsetAges()
    private var reachability = BrokerReachability()

    /// - Parameter client: The loop that uses this client, such as `planner-0`. It is a bounded label.
    init(_ metrics: Metrics, client: String) {
        self.metrics = metrics
        self.client = client
        func gauge(_ name: String, _ help: String) -> Gauge {
            metrics.gauge(name, help: help, labels: ["client": client])
        }
        queuedRecords = gauge("flotilla_kafka_queue_records", "Records produced and not yet acknowledged")
        queuedBytes = gauge("flotilla_kafka_queue_bytes", "Bytes produced and not yet acknowledged")
        brokersUp = gauge(
            "flotilla_kafka_brokers_up",
            "Brokers to which this client has a connection, or had one when it became idle")
        brokersUp.set(.nan)
        roundTrip = gauge(
            "flotilla_kafka_round_trip_seconds", "99th percentile of the slowest broker's answers")
        assigned = gauge(
            "flotilla_kafka_assigned_partitions", "Partitions the group has given to this client")
        throttledSeconds = gauge("flotilla_kafka_throttle_seconds", "Delay imposed by a broker")
        produceSeconds = metrics.histogram(
            "flotilla_kafka_produce_duration_seconds", help: "Time from send to acknowledgement",
            labels: ["client": client])
        transactionSeconds = metrics.histogram(
            "flotilla_kafka_txn_duration_seconds", help: "Time from the start of a transaction to its commit",
            labels: ["client": client])
    }

    func error(_ code: ErrorCode, fatal: Bool) {
        metrics.counter(
            "flotilla_kafka_client_errors_total", help: "Errors that the client library reported",
            labels: ["client": client, "code": code.name, "fatal": fatal ? "yes" : "no"]
        ).add()
    }

    func rebalanced(_ kind: String) {
        metrics.counter(
            "flotilla_kafka_rebalances_total", help: "Changes of the partition assignment by kind",
            labels: ["client": client, "kind": kind]
        ).add()
    }

    func skipped(_ offsets: Int64) {
        metrics.counter(
            "flotilla_kafka_skipped_offsets_total",
            help: "Offsets that their topic deleted before this client read them", labels: ["client": client]
        ).add(Int(offsets))
    }

    func committed(_ outcome: CommitOutcome) {
        metrics.counter(
            "flotilla_kafka_commit_total", help: "Offset commits by outcome",
            labels: ["client": client, "result": outcome.label]
        ).add()
    }

    /// Records the latency of one acknowledged batch for all its records.
    func delivered(_ count: Int, microseconds: Int64) {
        if count > 0, microseconds >= 0 {
            produceSeconds.observe(Double(microseconds) / 1_000_000, count: count)
        }
    }

    func transactionCommitted(seconds: Double) {
        transactionSeconds.observe(seconds)
        transaction("committed")
    }

    func transaction(_ result: String) {
        metrics.counter(
            "flotilla_kafka_txn_total", help: "Transactions by outcome",
            labels: ["client": client, "result": result]
        ).add()
    }

    func throttled(milliseconds: Int) { throttledSeconds.set(Double(milliseconds) / 1000) }

    func update(_ statistics: Statistics) {
        queuedRecords.set(Double(statistics.queuedRecords))
        queuedBytes.set(Double(statistics.queuedBytes))
        brokersUp.set(reachability.update(statistics).map(Double.init) ?? .nan)
        roundTrip.set(statistics.roundTripSeconds)
        assigned.set(Double(statistics.assignedPartitions))
        let age = ages.update(statistics.partitions, at: .now())
        for (partition, now) in statistics.partitions {
            guard let lag = now.lag else { continue }
            gauge(
                of: partition, in: &lags, name: "flotilla_kafka_consumer_lag",
                help: "Readable records that were not delivered to the stage yet"
            ).set(Double(lag))
            gauge(
                of: partition, in: &stableAges, name: "flotilla_kafka_lso_age_seconds",
                help: "Time for which an open transaction has hidden the records behind it"
            ).set(age[partition] ?? 0)
        }
        // A partition that was reassigned is reported by its new owner.
        for gauges in [lags, stableAges] {
            for (partition, gauge) in gauges where statistics.partitions[partition]?.lag == nil {
                gauge.set(.nan)
            }
        }
    }

    private func gauge(
        of partition: TopicPartition, in known: inout [TopicPartition: Gauge], name: String, help: String
    ) -> Gauge {
        if let gauge = known[partition] { return gauge }
        let gauge = metrics.gauge(
            name, help: help,
            labels: ["client": client, "topic": partition.topic, "partition": "\(partition.partition)"])
        known[partition] = gauge
        return gauge
    }
}
