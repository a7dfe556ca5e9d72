/// Keys of a `RowFile`: texts that each end with a zero byte, which no name contains, and times that sort
/// newest first.
enum RowKey {
    private static let timeBytes = 8

    static func joining(_ parts: String...) -> [UInt8] { joining(parts) }

    static func joining(_ parts: [String]) -> [UInt8] {
        var key: [UInt8] = []
        for part in parts {
            key.append(contentsOf: part.utf8)
            key.append(0)
        }
        return key
    }

    /// Returns the bytes of a time, which are smaller for a later time.
    ///
    /// - Parameter time: Milliseconds since 1970.
    static func newestFirst(time: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        BigEndian.append(UInt64.max - UInt64(clamping: time), to: &bytes)
        return bytes
    }

    /// Returns the time that `newestFirst(time:)` wrote behind a prefix, and the bytes behind it. Returns nil if the key is
    /// too short.
    ///
    /// - Parameter prefix: The length of the prefix in bytes.
    static func position(in key: [UInt8], after prefix: Int) -> ListPosition? {
        guard key.count >= prefix + timeBytes else { return nil }
        return ListPosition(
            at: Int64(clamping: UInt64.max - BigEndian.number(in: key.span, at: prefix)),
            tieBreaker: Array(key[(prefix + timeBytes)...]))
    }
}
