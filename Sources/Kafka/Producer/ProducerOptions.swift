/// The bounds of a producer.
package struct ProducerOptions: Sendable {
    package enum Compression: String, Sendable, CaseIterable { case none, lz4, zstd }

    /// How long a record may wait for others that share its batch.
    package var lingerMilliseconds = 5
    /// Batches are small where many partitions are written to, and the library sets zstd up anew for each, to write and
    /// to read: of 5,000 sends a second it was a fifteenth of all work.
    package var compression = Compression.lz4
    /// Topics that are written in another way.
    package var compressionOfTopics: [String: Compression] = [:]
    /// After this time a record that no broker acknowledged is given up.
    package var deliveryMillisecondsMax = 30_000
    /// What may wait for acknowledgement; then `send` says `full`.
    package var queueRecordsMax = 100_000
    package var queueKibibytesMax = 65_536
    package var recordBytesMax = 4 * 1024 * 1024 + 64 * 1024

    /// The library makes zstd's tables anew for each batch, 800 KiB of them at the usual level and 64 at this one:
    /// for batches of a few records that was most of what a producer cost.
    private static let zstdLevel = 1

    package init() {}

    func apply(to configuration: inout Configuration) {
        configuration.set("enable.idempotence", "true")
        configuration.set("acks", "all")
        configuration.set("partitioner", "murmur2_random")
        configuration.set("compression.type", compression.rawValue)
        if compression == .zstd { configuration.set("compression.level", "\(Self.zstdLevel)") }
        configuration.set("linger.ms", "\(lingerMilliseconds)")
        configuration.set("queue.buffering.max.messages", "\(queueRecordsMax)")
        configuration.set("queue.buffering.max.kbytes", "\(queueKibibytesMax)")
        configuration.set("message.max.bytes", "\(recordBytesMax)")
    }
}
