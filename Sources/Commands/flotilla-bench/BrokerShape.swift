internal import Kafka

/// One case of the comparison: a codec and a number of partitions.
struct BrokerShape: CustomStringConvertible {
    let compression: ProducerOptions.Compression
    let partitions: Int

    static let all = [ProducerOptions.Compression.none, .zstd].flatMap { compression in
        [1, 12].map { BrokerShape(compression: compression, partitions: $0) }
    }

    static let topic = "bench"

    var description: String { "\(compression), \(partitions) partition\(partitions == 1 ? "" : "s")" }
}
