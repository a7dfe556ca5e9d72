internal import JSON
internal import LiveActivity
internal import Telemetry

/// A time in a request: ISO 8601 in UTC, seconds since 1970, or seconds from now by the server's clock, so
/// that a caller's wrong clock does no harm.
extension JSONValue {
    private static let offsetSecondsMax = 366 * 86_400

    /// Seconds since 1970.
    func date(now: WallTime) -> Int64 {
        switch kind {
        case .string: isoDate()
        case .object: offsetDate(now)
        // Milliseconds are refused by the rules, with the field's name.
        case .integer: Int64(int(in: 0...(1 << 53)))
        default: noDate()
        }
    }

    private func noDate() -> Int64 {
        report(
            "must be a date: ISO 8601 in UTC such as \"2026-11-20T20:00:00Z\", seconds since 1970, or {\"offset\": seconds from now}",
            as: .wrongType)
        return 0
    }

    private func offsetDate(_ now: WallTime) -> Int64 {
        let object = object()
        let offset = object["offset"].int(in: 0...Self.offsetSecondsMax)
        object.refuseUnknownFields()
        return now.seconds + Int64(offset)
    }

    /// What JavaScript writes has a fraction of a second, which is left out.
    func isoDate() -> Int64 {
        guard let text = unsafe text else { return 0 }
        if let seconds = unsafe CivilTime.seconds(iso8601: text) { return max(0, seconds) }
        if unsafe CivilTime.hasFraction(iso8601: text) {
            let digits = unsafe text[20...].prefix { (0x30...0x39).contains($0) }.count
            let whole = unsafe Array(text[..<19]) + Array(text[(20 + digits)...])
            let seconds = unsafe whole.withUnsafeBufferPointer { unsafe CivilTime.seconds(iso8601: $0) }
            if let seconds { return max(0, seconds) }
        }
        report("must be a date in ISO 8601, in UTC, such as \"2026-11-20T20:00:00Z\"")
        return 0
    }
}
