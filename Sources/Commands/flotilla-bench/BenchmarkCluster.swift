internal import Kafka

/// The cluster of a benchmark: one that `--bootstrap` names, or a new broker in a separate process.
struct BenchmarkCluster {
    let brokers: [String]
    /// The broker that this value started, or nil for a cluster that `--bootstrap` names.
    private let process: BrokerProcess?

    /// - Parameters:
    ///   - brokers: the addresses of a running cluster; nil starts a broker.
    ///   - kind: the broker to start without a running cluster.
    init(brokers: [String]?, orStarting kind: BrokerProcess.Kind) throws {
        if let brokers {
            process = nil
            self.brokers = brokers
        } else {
            // The shape matters for the topic of `BrokerBenchmark` only. Other benchmarks create their own topics.
            let broker = try BrokerProcess(kind, shape: BrokerShape(compression: .zstd, partitions: 1))
            process = broker
            self.brokers = [broker.address]
        }
    }

    /// Stops the broker that this value started, and removes its data. A cluster that `--bootstrap` names keeps running.
    func stop() { process?.stop() }
}
