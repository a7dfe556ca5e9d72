/// One record of a batch, as ranges in the batch's decompressed bytes.
struct RecordView {
    /// The range of the record, including the length in front of it.
    var whole: Range<Int>
    /// The record's offset less the batch's base offset.
    var offsetDelta: Int64
    /// The record's timestamp less the batch's base timestamp.
    var timestampDelta: Int64
    var key: Range<Int>?
    var value: Range<Int>?
    var headerCount: Int
    /// The range of the headers, which are not decoded.
    var headers: Range<Int>
}

/// A reader of the records of a batch. It checks every length against the bytes and never traps.
@safe
struct RecordReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var remainingRecords: Int

    /// `bytes` are the decompressed records; they must outlive the reader.
    @unsafe init(_ bytes: UnsafeRawBufferPointer, count: Int) {
        unsafe self.bytes = unsafe bytes
        remainingRecords = count
    }

    /// Returns the next record, or nil after the last.
    mutating func next() throws(LogError) -> RecordView? {
        guard remainingRecords > 0 else {
            guard unsafe position == bytes.count else {
                throw LogError.corruptBatch("bytes follow its last record")
            }
            return nil
        }
        remainingRecords -= 1
        let start = position
        let length = try varint()
        guard length >= 0, length <= (unsafe bytes.count) - position else {
            throw LogError.corruptBatch("a record is longer than the batch")
        }
        let end = position + Int(length)
        guard end > position else { throw LogError.corruptBatch("a record is empty") }
        position += 1  // attributes, which no version uses
        let timestampDelta = try varint()
        let offsetDelta = try varint()
        let key = try readField(endingBy: end)
        let value = try readField(endingBy: end)
        let headerCount = try varint()
        guard position <= end, headerCount >= 0, headerCount <= Int64(end - position) else {
            throw LogError.corruptBatch("the fields of a record do not match its length")
        }
        let headers = position..<end
        position = end
        return RecordView(
            whole: start..<end, offsetDelta: offsetDelta, timestampDelta: timestampDelta, key: key,
            value: value, headerCount: Int(headerCount), headers: headers)
    }

    private mutating func varint() throws(LogError) -> Int64 {
        guard let value = unsafe Varint.read(bytes, at: &position) else {
            throw LogError.corruptBatch("a number in it does not end")
        }
        return value
    }

    /// Reads a key or a value, which is a length and bytes. Returns nil for null, which has the length -1.
    private mutating func readField(endingBy end: Int) throws(LogError) -> Range<Int>? {
        let length = try varint()
        if length == -1 { return nil }
        guard length >= 0, position <= end, length <= Int64(end - position) else {
            throw LogError.corruptBatch("a key or value is longer than its record")
        }
        let field = position..<position + Int(length)
        position = field.upperBound
        return field
    }
}
