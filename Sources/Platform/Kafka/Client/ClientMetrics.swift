internal import Lifecycle
internal import Telemetry

/// The metrics of one client. Only the thread that polls the client uses it.
final class ClientMetrics {
    private let metrics: Metrics
    private let clientName: String
    private let queuedRecords: Gauge
    private let queuedBytes: Gauge
    private let brokersUp: Gauge
    private let roundTripSeconds: Gauge
    private let assignedPartitions: Gauge
    private let throttledSeconds: Gauge
    private let produceSeconds: Histogram
    private let transactionSeconds: Histogram
    private var lagGauges: [TopicPartition: Gauge] = [:]
    private var stableOffsetAgeGauges: [TopicPartition: Gauge] = [:]
    private var stableOffsetAges = StableOffsetAges()
    private var reachability = BrokerReachability()

    /// - Parameter client: The loop that uses this client, such as `planner-0`. It is a bounded label.
    init(metrics: Metrics, client: String) {
        self.metrics = metrics
        self.clientName = client
        func gauge(_ name: String, help: String) -> Gauge {
            metrics.gauge(name, help: help, labels: ["client": client])
        }
        queuedRecords = gauge(
            "flotilla_kafka_queue_records", help: "Records produced and not yet acknowledged")
        queuedBytes = gauge("flotilla_kafka_queue_bytes", help: "Bytes produced and not yet acknowledged")
        brokersUp = gauge(
            "flotilla_kafka_brokers_up",
            help: "Brokers to which this client has a connection, or had one when it became idle")
        brokersUp.set(.nan)
        roundTripSeconds = gauge(
            "flotilla_kafka_round_trip_seconds", help: "99th percentile of the slowest broker's answers")
        assignedPartitions = gauge(
            "flotilla_kafka_assigned_partitions", help: "Partitions the group has given to this client")
        throttledSeconds = gauge("flotilla_kafka_throttle_seconds", help: "Delay imposed by a broker")
        produceSeconds = metrics.histogram(
            "flotilla_kafka_produce_duration_seconds", help: "Time from send to acknowledgement",
            labels: ["client": client])
        transactionSeconds = metrics.histogram(
            "flotilla_kafka_transaction_duration_seconds",
            help: "Time from the start of a transaction to its commit",
            labels: ["client": client])
    }

    func countError(_ code: KafkaErrorCode, isFatal: Bool) {
        metrics.counter(
            "flotilla_kafka_client_errors_total", help: "Errors that the client library reported",
            labels: ["client": clientName, "code": code.name, "fatal": isFatal ? "yes" : "no"]
        ).add()
    }

    func countRebalance(kind: String) {
        metrics.counter(
            "flotilla_kafka_rebalances_total", help: "Changes of the partition assignment by kind",
            labels: ["client": clientName, "kind": kind]
        ).add()
    }

    func countSkippedOffsets(_ offsets: Int64) {
        metrics.counter(
            "flotilla_kafka_skipped_offsets_total",
            help: "Offsets that their topic deleted before this client read them",
            labels: ["client": clientName]
        ).add(Int(offsets))
    }

    func countCommit(_ outcome: CommitOutcome) {
        metrics.counter(
            "flotilla_kafka_commit_total", help: "Offset commits by outcome",
            labels: ["client": clientName, "result": outcome.label]
        ).add()
    }

    /// Records the latency of one acknowledged batch for all its records.
    func recordDeliveries(count: Int, microseconds: Int64) {
        if count > 0, microseconds >= 0 {
            produceSeconds.observe(Double(microseconds) / 1_000_000, count: count)
        }
    }

    func recordCommittedTransaction(seconds: Double) {
        transactionSeconds.observe(seconds)
        countTransaction(result: "committed")
    }

    func countTransaction(result: String) {
        metrics.counter(
            "flotilla_kafka_transactions_total", help: "Transactions by outcome",
            labels: ["client": clientName, "result": result]
        ).add()
    }

    func setThrottle(milliseconds: Int) { throttledSeconds.set(Double(milliseconds) / 1000) }

    func update(with statistics: ClientStatistics) {
        queuedRecords.set(Double(statistics.queuedRecords))
        queuedBytes.set(Double(statistics.queuedBytes))
        brokersUp.set(reachability.update(with: statistics).map(Double.init) ?? .nan)
        roundTripSeconds.set(statistics.roundTripSeconds)
        assignedPartitions.set(Double(statistics.assignedPartitions))
        let ages = stableOffsetAges.update(with: statistics.partitions, at: .now())
        for (partition, partitionStatistics) in statistics.partitions {
            guard let lag = partitionStatistics.lag else { continue }
            gauge(
                of: partition, in: &lagGauges, name: "flotilla_kafka_consumer_lag",
                help: "Readable records that were not delivered to the stage yet"
            ).set(Double(lag))
            gauge(
                of: partition, in: &stableOffsetAgeGauges, name: "flotilla_kafka_stable_offset_age_seconds",
                help: "Time for which an open transaction has hidden the records behind it"
            ).set(ages[partition] ?? 0)
        }
        // The new owner of a reassigned partition reports it. NaN means that this client has no value.
        for gauges in [lagGauges, stableOffsetAgeGauges] {
            for (partition, gauge) in gauges where statistics.partitions[partition]?.lag == nil {
                gauge.set(.nan)
            }
        }
    }

    private func gauge(
        of partition: TopicPartition, in gauges: inout [TopicPartition: Gauge], name: String, help: String
    ) -> Gauge {
        if let gauge = gauges[partition] { return gauge }
        let gauge = metrics.gauge(
            name, help: help,
            labels: ["client": clientName, "topic": partition.topic, "partition": "\(partition.partition)"])
        gauges[partition] = gauge
        return gauge
    }
}
