/// The last applied record of a topic's partition: its offset, and a checksum over its key and value. It
/// identifies the topic.
package struct LastRecord: Sendable, Hashable {
    package let offset: Int64
    package let checksum: UInt32

    package init(offset: Int64, checksum: UInt32) {
        self.offset = offset
        self.checksum = checksum
    }

    init(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) {
        // A missing key or value differs from an empty one.
        var sum: UInt32 = 0
        if let key { sum = key.crc(from: 1) }
        if let value { sum = value.crc(from: ~sum) }
        self.init(offset: offset, checksum: sum)
    }
}
