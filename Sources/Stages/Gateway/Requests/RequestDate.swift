internal import JSON
internal import Telemetry

/// Dates in requests: ISO 8601 in UTC, seconds since 1970, or `{"offset": 3600}`, which counts seconds from now by
/// the server's clock. An offset is right even if the caller's clock is wrong.
extension JSONValue {
    private static let offsetSecondsMax = 366 * 86_400
    /// The length of `2026-11-20T20:00:00`. A fraction begins with a point after it.
    private static let dateAndTimeLength = 19
    /// The largest integer that programs with floating-point numbers represent exactly.
    private static let dateIntegerMax = 1 << 53

    /// Returns the date in seconds since 1970. After a problem it is 0.
    func date(now: WallTime) -> Int64 {
        switch kind {
        case .string: isoDate()
        case .object: offsetDate(now: now)
        // A value in milliseconds is not refused here. The checks of the send refuse it.
        case .integer: Int64(int(in: 0...Self.dateIntegerMax))
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
            let fractionStart = Self.dateAndTimeLength + 1
            let digits = unsafe text[fractionStart...].prefix { (0x30...0x39).contains($0) }.count
            let withoutFraction =
                unsafe Array(text[..<Self.dateAndTimeLength]) + Array(text[(fractionStart + digits)...])
            let seconds = unsafe withoutFraction.withUnsafeBufferPointer {
                unsafe UTCDate.seconds(iso8601: $0)
            }
            if let seconds { return max(0, seconds) }
        }
        report("must be a date in ISO 8601, in UTC, such as \"2026-11-20T20:00:00Z\"")
        return 0
    }
}
