import Foundation
import Testing

@testable import Telemetry

@Test func `time is written in RFC 3339 in every century`() {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    var seconds: Int64 = -5_000_000_000
    while seconds < 8_000_000_000 {
        let date = Date(timeIntervalSince1970: Double(seconds))
        #expect(WallTime(milliseconds: seconds * 1000).rfc3339 == formatter.string(from: date))
        seconds += 86_399 * 37 + 12_345
    }
    #expect(WallTime(milliseconds: 1_709_210_096_007).rfc3339 == "2024-02-29T12:34:56.007Z")
    #expect(WallTime(milliseconds: -1).rfc3339 == "1969-12-31T23:59:59.999Z")
}
