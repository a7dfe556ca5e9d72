/// Keys of a `RowFile`: texts with a zero byte behind each, which no name has, and times that sort newest first.
enum RowKey {
    static func of(_ parts: String...) -> [UInt8] { of(parts) }

    static func of(_ parts: [String]) -> [UInt8] {
        var key: [UInt8] = []
        for part in parts {
            key.append(contentsOf: part.utf8)
            key.append(0)
        }
        return key
    }

    /// - Parameter time: milliseconds since 1970.
    static func newestFirst(_ time: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        BigEndian.append(UInt64.max - UInt64(clamping: time), to: &bytes)
        return bytes
    }

    /// The time whose bytes stand behind the prefix; nil in a key that is too short.
    static func time(in key: Span<UInt8>, behind prefix: Int) -> Int64? {
        guard key.count >= prefix + 8 else { return nil }
        return Int64(clamping: UInt64.max - BigEndian.number(in: key, at: prefix))
    }
}
