/// The fixed fields in front of a record batch (format 2 of Kafka's public message format).
///
/// Parsing copies 61 bytes into plain values and never reads the records. The checksum covers everything
/// from `attributes` on, so base offset and leader epoch can be set without a new checksum.
package struct BatchHeader: Equatable, Sendable {
    package static let size = 61
    /// The bytes of a header, in memory of the caller.
    typealias EncodedBytes = InlineArray<61, UInt8>

    /// Bytes in front of those that `batchLength` counts: `baseOffset` and `batchLength`.
    static let lengthPrefix = 12
    /// The first byte that the checksum covers.
    static let firstCheckedByte = 21

    // The bits of `attributes`.
    static let codecMask: Int16 = 0x07
    static let appendTimeBit: Int16 = 0x08
    static let transactionalBit: Int16 = 0x10
    static let controlBit: Int16 = 0x20

    package var baseOffset: Int64
    package var batchLength: Int32
    package var leaderEpoch: Int32
    package var magic: Int8
    package var crc: UInt32
    package var attributes: Int16
    package var lastOffsetDelta: Int32
    package var baseTimestamp: Int64
    package var maxTimestamp: Int64
    package var producerID: Int64
    package var producerEpoch: Int16
    package var baseSequence: Int32
    package var recordCount: Int32

    /// Reads the fields. `bytes` must hold `size` bytes, of any content.
    package init(parsing bytes: UnsafeRawBufferPointer) {
        baseOffset = unsafe bytes.big(at: 0)
        batchLength = unsafe bytes.big(at: 8)
        leaderEpoch = unsafe bytes.big(at: 12)
        magic = unsafe bytes.big(at: 16)
        crc = unsafe bytes.big(at: 17)
        attributes = unsafe bytes.big(at: 21)
        lastOffsetDelta = unsafe bytes.big(at: 23)
        baseTimestamp = unsafe bytes.big(at: 27)
        maxTimestamp = unsafe bytes.big(at: 35)
        producerID = unsafe bytes.big(at: 43)
        producerEpoch = unsafe bytes.big(at: 51)
        baseSequence = unsafe bytes.big(at: 53)
        recordCount = unsafe bytes.big(at: 57)
    }

    package init(
        baseOffset: Int64, producerID: Int64 = -1, producerEpoch: Int16 = -1, baseSequence: Int32 = -1
    ) {
        self.baseOffset = baseOffset
        self.producerID = producerID
        self.producerEpoch = producerEpoch
        self.baseSequence = baseSequence
        batchLength = Int32(Self.size - Self.lengthPrefix)
        leaderEpoch = 0
        magic = 2
        crc = 0
        attributes = 0
        lastOffsetDelta = 0
        baseTimestamp = -1
        maxTimestamp = -1
        recordCount = 0
    }

    package func write(to bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.setBig(baseOffset, at: 0)
        unsafe bytes.setBig(batchLength, at: 8)
        unsafe bytes.setBig(leaderEpoch, at: 12)
        unsafe bytes.setBig(magic, at: 16)
        unsafe bytes.setBig(crc, at: 17)
        unsafe bytes.setBig(attributes, at: 21)
        unsafe bytes.setBig(lastOffsetDelta, at: 23)
        unsafe bytes.setBig(baseTimestamp, at: 27)
        unsafe bytes.setBig(maxTimestamp, at: 35)
        unsafe bytes.setBig(producerID, at: 43)
        unsafe bytes.setBig(producerEpoch, at: 51)
        unsafe bytes.setBig(baseSequence, at: 53)
        unsafe bytes.setBig(recordCount, at: 57)
    }
}

extension BatchHeader {
    /// Bytes of the whole batch.
    package var totalSize: Int { Self.lengthPrefix + Int(batchLength) }
    package var lastOffset: Int64 { baseOffset &+ Int64(lastOffsetDelta) }
    package var nextOffset: Int64 { lastOffset &+ 1 }
    package var lastSequence: Int32 { Sequence.adding(lastOffsetDelta, to: baseSequence) }
    /// The number of a `Codec`, or an unknown number.
    package var codec: Int { Int(attributes & Self.codecMask) }
    /// Whether all records have `maxTimestamp`, the time of their append.
    package var usesAppendTime: Bool { attributes & Self.appendTimeBit != 0 }
    package var isTransactional: Bool { attributes & Self.transactionalBit != 0 }
    /// Whether the batch is a marker of a transaction, and not data.
    package var isControl: Bool { attributes & Self.controlBit != 0 }
    package var hasProducer: Bool { producerID >= 0 }
}

/// Sequence numbers of producers, which count to the largest 32-bit number and continue with 0.
package enum Sequence {
    package static func adding(_ delta: Int32, to sequence: Int32) -> Int32 {
        guard sequence >= 0, delta >= 0 else { return sequence }
        return Int32((Int64(sequence) + Int64(delta)) & Int64(Int32.max))
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the big-endian number at `offset`.
    func big<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Number {
        Number(bigEndian: unsafe loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    func setBig<Number: FixedWidthInteger & BitwiseCopyable>(_ value: Number, at offset: Int) {
        unsafe storeBytes(of: value.bigEndian, toByteOffset: offset, as: Number.self)
    }
}
