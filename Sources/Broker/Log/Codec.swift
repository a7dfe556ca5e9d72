/// The compression of a batch's records. The broker stores batches as they come; it looks inside
/// only where a topic's rules need the keys, and compresses only what compaction writes anew.
enum Codec: Int {
    case none = 0
    case gzip = 1
    case snappy = 2
    case lz4 = 3
    case zstd = 4

    /// Bytes that one batch may decompress to. A batch beyond it is refused where it is looked into:
    /// a few kilobytes must not buy gigabytes.
    static let decompressedMax = 256 << 20

    /// The records of a batch in the clear.
    func decompress(_ bytes: UnsafeRawBufferPointer) throws(LogError) -> [UInt8] {
        let plain: [UInt8]? =
            switch self {
            case .none: unsafe [UInt8](bytes)
            case .gzip: unsafe GzipCodec.decompress(bytes, max: Self.decompressedMax)
            case .snappy: unsafe SnappyCodec.decompress(bytes, max: Self.decompressedMax)
            case .lz4: unsafe LZ4Codec.decompress(bytes, max: Self.decompressedMax)
            case .zstd: unsafe ZstdCodec.decompress(bytes, max: Self.decompressedMax)
            }
        guard let plain else { throw .corruptBatch("its records do not decompress, or to too much") }
        return plain
    }

    /// What compaction writes for a batch that came in this codec, and the codec it then has. Snappy
    /// becomes plain: every client reads that, and nothing here can write Snappy.
    func compress(_ plain: [UInt8]) -> (bytes: [UInt8], codec: Codec) {
        let compressed: [UInt8]? =
            switch self {
            case .none, .snappy: nil
            case .gzip: GzipCodec.compress(plain)
            case .lz4: LZ4Codec.compress(plain)
            case .zstd: ZstdCodec.compress(plain)
            }
        guard let compressed else { return (plain, .none) }
        return (compressed, self)
    }
}
