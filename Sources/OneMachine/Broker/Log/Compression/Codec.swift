internal import Compression

/// The compression of a batch's records, with Kafka's numbers. The broker stores batches as they come. It
/// decompresses them to read keys and timestamps, and compresses only batches that compaction rewrites.
enum Codec: Int {
    case none = 0
    case gzip = 1
    case snappy = 2
    case lz4 = 3
    case zstd = 4

    /// Limit for the decompressed bytes of one batch. Without it, a few kilobytes could allocate
    /// gigabytes.
    static let decompressedMax = 256 << 20

    /// Returns the decompressed records of a batch.
    func decompress(_ bytes: UnsafeRawBufferPointer) throws(LogError) -> [UInt8] {
        let records: [UInt8]? =
            switch self {
            case .none: unsafe [UInt8](bytes)
            case .gzip: unsafe Gzip.decompress(bytes, max: Self.decompressedMax)
            case .snappy: unsafe SnappyCodec.decompress(bytes, max: Self.decompressedMax)
            case .lz4: unsafe LZ4Codec.decompress(bytes, max: Self.decompressedMax)
            case .zstd: unsafe ZstdCodec.decompress(bytes, max: Self.decompressedMax)
            }
        guard let records else {
            throw .corruptBatch("its records cannot be decompressed, or are too large then")
        }
        return records
    }

    /// Compresses the records of a batch that compaction rewrites, and returns the codec it used. Snappy
    /// batches become uncompressed, because the broker cannot write Snappy.
    func compress(_ records: [UInt8]) -> (bytes: [UInt8], codec: Codec) {
        let compressed: [UInt8]? =
            switch self {
            case .none, .snappy: nil
            case .gzip: Gzip.compress(records)
            case .lz4: LZ4Codec.compress(records)
            case .zstd: ZstdCodec.compress(records)
            }
        guard let compressed else { return (records, .none) }
        return (compressed, self)
    }
}
