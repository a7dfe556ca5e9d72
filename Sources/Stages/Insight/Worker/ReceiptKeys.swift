internal import Identifiers
internal import Jobs

// The keys of a `ReceiptFile`. Names have no control characters, so a zero byte ends each name. All keys are
// far below the longest possible key.

extension JobPosition {
    /// The topic, a zero byte, the partition in four bytes, and the offset in eight bytes.
    var key: [UInt8] {
        var key = Array(topic.utf8)
        key.append(0)
        BigEndian.append(partition, to: &key)
        BigEndian.append(offset, to: &key)
        return key
    }
}

extension SendTally.Key {
    /// The app and the send, each with a zero byte behind it, and the environment.
    var bytes: [UInt8] { Self.prefix(app: app, sendsFrom: send) + [0] + Array(environment.rawValue.utf8) }

    /// Returns the key prefix of the rows of all sends whose ids begin with a text.
    static func prefix(app: String, sendsFrom text: String) -> [UInt8] {
        Array(app.utf8) + [0] + Array(text.utf8)
    }

    /// Returns nil for bytes that `bytes` cannot have produced.
    init?(_ key: Span<UInt8>) {
        let parts = unsafe key.withUnsafeBufferPointer { bytes in
            unsafe bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map {
                unsafe String(decoding: $0, as: UTF8.self)
            }
        }
        guard parts.count == 3, let environment = Environment(rawValue: parts[2]) else { return nil }
        self.init(app: parts[0], send: parts[1], environment: environment)
    }
}
