import Testing

@testable import Settings

// The texts that a setting accepts as its value.

@Test(arguments: [
    ("0ms", 0), ("250ms", 250), ("5s", 5000), ("2m", 120_000), ("24h", 86_400_000), ("7d", 604_800_000),
])
func `a duration is read with its unit`(text: String, count: Int) {
    #expect(Milliseconds(settingText: text) == Milliseconds(count))
}

@Test(arguments: ["5", "-1s", "s", "", "1.5s", "9223372036854775807d", "1 s"])
func `a duration without a unit, negative, or too large is refused`(text: String) {
    #expect(Milliseconds(settingText: text) == nil)
}

@Test(arguments: [("0B", 0), ("512B", 512), ("64KiB", 65536), ("4MiB", 4 << 20), ("10GiB", 10 << 30)])
func `a size is read with its unit`(text: String, count: Int) {
    #expect(ByteSize(settingText: text) == ByteSize(count))
}

@Test(arguments: ["5", "1KB", "-1B", "9223372036854775807KiB", ""])
func `a size without a unit, negative, or too large is refused`(text: String) {
    #expect(ByteSize(settingText: text) == nil)
}

@Test func `durations and sizes read back as they are written`() {
    for count in [0, 1, 999, 1000, 60_000, 61_000, 86_400_000, 90_000_000] {
        #expect(Milliseconds(settingText: Milliseconds(count).settingText) == Milliseconds(count))
    }
    for count in [0, 1, 1023, 1024, 1536, 1 << 20, 3 << 30] {
        #expect(ByteSize(settingText: ByteSize(count).settingText) == ByteSize(count))
    }
    #expect(Milliseconds(90_000_000).settingText == "25h")
    #expect(ByteSize(1536).settingText == "1536B")
}

@Test(arguments: [("a:1", "a", 1), ("127.0.0.1:9092", "127.0.0.1", 9092), ("[::1]:0", "::1", 0)])
func `a host and port is read`(text: String, host: String, port: Int) {
    #expect(HostPort(settingText: text) == HostPort(host: host, port: port))
    #expect(HostPort(host: host, port: port).settingText == text)
}

@Test(arguments: ["a", "a:", ":1", "a:65536", "a:-1", "::1:80", "a b:1", ""])
func `text that is not a host and port is refused`(text: String) {
    #expect(HostPort(settingText: text) == nil)
}

@Test func `empty text is nil for an optional, and a wrong value is refused`() {
    // The outer optional says whether the text is valid, and the inner one is the value.
    #expect(Int?(settingText: "") == .some(.none))
    #expect(Int?(settingText: "7") == .some(7))
    #expect(Int?(settingText: "x") == nil)
}

@Test(arguments: [
    ("127.0.0.1", true), ("127.8.0.1", true), ("::1", true), ("localhost", true), ("0.0.0.0", false),
    ("::", false), ("10.0.0.1", false), ("flotilla.example.com", false),
])
func `only this machine reaches a loopback address`(host: String, isLoopback: Bool) {
    #expect(HostPort(host: host, port: 1).isLoopback == isLoopback)
}
