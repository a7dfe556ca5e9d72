extension BatchHeader {
    /// Limit for the record count of one batch. Without it, a few bytes of an attacker could allocate
    /// gigabytes.
    package static let recordsMax = 10_000_000

    /// Parses the bytes of a producer and checks that they are exactly one batch with right lengths,
    /// format, counts and checksum. The records inside are not read.
    package static func parse(received bytes: UnsafeRawBufferPointer) throws(LogError) -> BatchHeader {
        guard bytes.count >= size else {
            throw .corruptBatch("it has \(bytes.count) bytes, fewer than a header")
        }
        let header = unsafe BatchHeader(parsing: bytes)
        if let flaw = header.flaw { throw .corruptBatch(flaw) }
        guard header.totalSize <= bytes.count else {
            throw .corruptBatch("it says \(header.totalSize) bytes and has \(bytes.count)")
        }
        guard header.totalSize == bytes.count else {
            throw .invalidRecord("a request must have one batch for each partition, and this one has more")
        }
        guard unsafe header.checksumMatches(bytes) else { throw .corruptBatch("its checksum does not match") }
        return header
    }

    /// The first field with an impossible value, as a sentence; nil if all are possible.
    var flaw: String? {
        if magic != 2 { return "its format is \(magic), and only 2 is known" }
        if totalSize < Self.size { return "its length is \(batchLength)" }
        if lastOffsetDelta < 0 { return "its last offset is \(lastOffsetDelta) after its first" }
        if recordCount < 0 || recordCount > Self.recordsMax { return "its record count is \(recordCount)" }
        if baseOffset < 0 { return "its offset is \(baseOffset)" }
        return nil
    }

    /// Checks the rules that only a batch from a producer must keep. A stored batch may break them: compaction leaves
    /// holes in it, and markers are control batches.
    func checkProduced() throws(LogError) {
        guard recordCount > 0, lastOffsetDelta == recordCount - 1 else {
            throw .invalidRecord("it says \(recordCount) records and \(lastOffsetDelta) as its last offset")
        }
        guard Codec(rawValue: codec) != nil else { throw .unsupportedCodec(codec) }
        guard !isControl else { throw .invalidRecord("only the broker writes control records") }
        guard !hasProducer || (producerEpoch >= 0 && baseSequence >= 0) else {
            throw .invalidRecord("it has a producer id without epoch or sequence")
        }
        guard !isTransactional || hasProducer else {
            throw .invalidRecord("it is transactional without a producer id")
        }
    }

    /// Whether the checksum matches. `bytes` begins with the whole batch.
    func checksumMatches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe CRC32C.checksum(of: UnsafeRawBufferPointer(rebasing: bytes[Self.firstCheckedByte..<totalSize]))
            == crc
    }

    /// Whether stored bytes begin with the whole, unchanged batch that belongs at `offset`. The broker
    /// never serves other bytes. The checksum does not cover the base offset and the epoch. Each has only
    /// one right value, so both are compared here.
    func isSound(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        flaw == nil && baseOffset == offset && leaderEpoch == 0 && totalSize <= bytes.count
            && (unsafe checksumMatches(bytes))
    }
}
