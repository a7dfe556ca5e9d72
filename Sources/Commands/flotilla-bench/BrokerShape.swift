internal import Kafka

/// One load of the broker benchmarks: the producer's codec and the number of the topic's partitions.
struct BrokerShape: CustomStringConvertible {
    let compression: ProducerOptions.Compression
    let partitions: Int

    /// The loads that `BrokerBenchmark` compares.
    static let all = [ProducerOptions.Compression.none, .zstd].flatMap { compression in
        [1, 12].map { BrokerShape(compression: compression, partitions: $0) }
    }

    /// The topic of the broker benchmarks. `BrokerProcess` creates it.
    static let topic = "bench"

    var description: String { "\(compression), \(partitions) partition\(partitions == 1 ? "" : "s")" }
}
