/// The limits and options of a producer.
package struct ProducerOptions: Sendable {
    package enum Compression: String, Sendable, CaseIterable { case none, lz4, zstd }

    /// The longest time that a record waits for other records to share its batch.
    package var lingerMilliseconds = 5
    /// The default is lz4 because batches are small if a producer writes to many partitions. The library sets
    /// up zstd again for each batch, both to write and to read. At 5,000 sends a second, that was a fifteenth
    /// of all work.
    package var compression = Compression.lz4
    /// The compression of topics that do not use the default.
    package var compressionOfTopics: [String: Compression] = [:]
    /// The time after which the producer gives up on a record that no broker acknowledged.
    package var deliveryMillisecondsMax = 30_000
    /// The limits of the records that wait for acknowledgement. Beyond them, `send` returns `full`.
    package var queueRecordsMax = 100_000
    package var queueKibibytesMax = 65_536
    /// The maximum size of one record.
    package var recordBytesMax = 4 * 1024 * 1024 + 64 * 1024

    /// The lowest level. The library builds zstd's tables again for each batch: 800 KiB at the default level,
    /// 64 KiB at this level. With batches of a few records, this was most of a producer's cost.
    private static let zstdLevel = 1

    package init() {}

    func apply(to configuration: inout ClientConfiguration) {
        configuration.set("enable.idempotence", to: "true")
        configuration.set("acks", to: "all")
        configuration.set("partitioner", to: "murmur2_random")
        configuration.set("compression.type", to: compression.rawValue)
        if compression == .zstd { configuration.set("compression.level", to: "\(Self.zstdLevel)") }
        configuration.set("linger.ms", to: "\(lingerMilliseconds)")
        configuration.set("queue.buffering.max.messages", to: "\(queueRecordsMax)")
        configuration.set("queue.buffering.max.kbytes", to: "\(queueKibibytesMax)")
        configuration.set("message.max.bytes", to: "\(recordBytesMax)")
    }
}
