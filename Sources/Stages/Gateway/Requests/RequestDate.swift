internal import JSON
internal import LiveActivity
internal import Telemetry

/// Times in requests: ISO 8601 in UTC, seconds since 1970, or seconds from now by the server's clock. The
/// offset form protects against a wrong clock of the caller.
extension JSONValue {
    private static let offsetSecondsMax = 366 * 86_400

    /// Returns the date in seconds since 1970.
    func date(now: WallTime) -> Int64 {
        switch kind {
        case .string: isoDate()
        case .object: offsetDate(now: now)
        // The payload rules refuse milliseconds with the field's name.
        case .integer: Int64(int(in: 0...(1 << 53)))
        default: reportWrongDate()
        }
    }

    private func reportWrongDate() -> Int64 {
        report(
            "must be a date: ISO 8601 in UTC such as \"2026-11-20T20:00:00Z\", seconds since 1970, or {\"offset\": seconds from now}",
            as: .wrongType)
        return 0
    }

    private func offsetDate(now: WallTime) -> Int64 {
        let object = object()
        let offset = object["offset"].int(in: 0...Self.offsetSecondsMax)
        object.reportUnknownFields()
        return now.seconds + Int64(offset)
    }

    /// Returns an ISO date in seconds since 1970. A fraction of a second, as JavaScript writes it, is
    /// ignored.
    func isoDate() -> Int64 {
        guard let text = unsafe text else { return 0 }
        if let seconds = unsafe UTCDate.seconds(iso8601: text) { return max(0, seconds) }
        if unsafe UTCDate.hasFraction(iso8601: text) {
            let digits = unsafe text[20...].prefix { (0x30...0x39).contains($0) }.count
            let whole = unsafe Array(text[..<19]) + Array(text[(20 + digits)...])
            let seconds = unsafe whole.withUnsafeBufferPointer { unsafe UTCDate.seconds(iso8601: $0) }
            if let seconds { return max(0, seconds) }
        }
        report("must be a date in ISO 8601, in UTC, such as \"2026-11-20T20:00:00Z\"")
        return 0
    }
}
