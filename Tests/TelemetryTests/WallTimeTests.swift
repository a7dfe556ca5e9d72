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
        // About 37 days, so that the times of day differ too.
        seconds += 86_399 * 37 + 12_345
    }
    #expect(WallTime(milliseconds: 1_709_210_096_007).rfc3339 == "2024-02-29T12:34:56.007Z")
    #expect(WallTime(milliseconds: -1).rfc3339 == "1969-12-31T23:59:59.999Z")
}

@Test func `a time outside the possible years becomes the nearest possible time`() {
    for milliseconds in [9_223_372_036_855, 1 << 53, Int64.max] {
        #expect(WallTime(milliseconds: milliseconds).rfc3339 == "2262-04-11T23:47:16.854Z")
        #expect(WallTime(milliseconds: -milliseconds).rfc3339 == "1677-09-21T00:12:43.145Z")
    }
}

@Test func `milliseconds and seconds are rounded down also before 1970`() {
    let time = WallTime(nanoseconds: -1)
    #expect(time.milliseconds == -1 && time.seconds == -1)
    #expect(WallTime(nanoseconds: 1_999_999_999).seconds == 1)
}
