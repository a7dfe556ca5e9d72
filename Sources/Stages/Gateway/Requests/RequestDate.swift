internal import JSON
internal import Telemetry

/// Dates in requests: ISO 8601 in UTC, seconds since 1970, or `{"offset": 3600}`, which counts seconds from now by
/// the server's clock. An offset is right even if the caller's clock is wrong.
extension JSONValue {
    /// A year and a day.
    private static let offsetSecondsMax = 366 * 86_400
    /// The length of `2026-11-20T20:00:00`. A fraction begins with a point after it.
    private static let dateAndTimeLength = 19
    /// The largest integer that programs with floating-point numbers represent exactly.
    private static let dateIntegerMax = 1 << 53

    /// Returns a date in any of the forms, in seconds since 1970. Returns 0 after it has reported a problem.
    func date(now: WallTime) -> Int64 {
        switch kind {
        case .string: return isoDate()
        case .object: return offsetDate(now: now)
        // A value in milliseconds is not refused here. The checks of the send refuse it.
        case .integer: return Int64(int(in: 0...Self.dateIntegerMax))
        default:
            report(
                "must be a date: ISO 8601 in UTC such as \"2026-11-20T20:00:00Z\", seconds since 1970, or {\"offset\": seconds from now}",
                as: .wrongType)
            return 0
        }
    }

    private func offsetDate(now: WallTime) -> Int64 {
        let object = object()
        let offset = object["offset"].int(in: 0...Self.offsetSecondsMax)
        object.reportUnknownFields()
        return now.seconds + Int64(offset)
    }

    /// Returns an ISO date in seconds since 1970. Returns 0 after it has reported a problem. So a date of 1970 or
    /// earlier, which has passed in every field, is returned as 1.
    func isoDate() -> Int64 {
        guard let text = unsafe utf8IfString() else { return 0 }
        if let seconds = unsafe UTCDate.seconds(iso8601: text) { return max(1, seconds) }
        if let seconds = unsafe Self.secondsIgnoringFraction(iso8601: text) { return max(1, seconds) }
        report("must be a date in ISO 8601, in UTC, such as \"2026-11-20T20:00:00Z\"")
        return 0
    }

    /// Reads a date with a fraction of a second, as JavaScript writes it: `2026-11-20T20:00:00.000Z`.
    private static func secondsIgnoringFraction(iso8601 text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard unsafe UTCDate.hasFraction(iso8601: text) else { return nil }
        let digitsStart = dateAndTimeLength + 1
        let digitCount = unsafe text[digitsStart...].prefix { (0x30...0x39).contains($0) }.count
        let textWithoutFraction =
            unsafe Array(text[..<dateAndTimeLength]) + Array(text[(digitsStart + digitCount)...])
        return unsafe textWithoutFraction.withUnsafeBufferPointer { unsafe UTCDate.seconds(iso8601: $0) }
    }
}
