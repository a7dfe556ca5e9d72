import Foundation
import Synchronization
import Testing

@testable import Telemetry

/// Returns the lines that a sink wrote, read back from a pipe. Its clock stands at one time.
private func written(level: LogLevel = .debug, format: LogFormat = .json, _ body: (Log) -> Void) -> [String] {
    let pipe = Pipe()
    let sink = LogSink(level: level, format: format, descriptor: pipe.fileHandleForWriting.fileDescriptor) {
        WallTime(milliseconds: 1_763_633_295_123)
    }
    body(Log(component: "test", sink: sink))
    sink.flush()
    try? pipe.fileHandleForWriting.close()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return text.split(separator: "\n").map(String.init)
}

@Test func `a JSON line is one object with the fields in order`() throws {
    let lines = written { log in
        log.info(
            "started", .field("port", 9092), .field("host", "a\"b"), .field("share", 0.5), .field("ok", true))
    }
    #expect(
        lines == [
            #"{"ts":"2025-11-20T10:08:15.123Z","level":"info","component":"test","message":"started","port":9092,"host":"a\"b","share":0.5,"ok":true}"#
        ])
    #expect(try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) is [String: Any])
}

@Test func `a text line is laid out for people to read`() {
    let lines = written(format: .text) { $0.warning("slow", .field("why", "disk is slow"), .field("n", 1)) }
    #expect(lines == [#"2025-11-20T10:08:15.123Z warning test: slow why="disk is slow" n=1"#])
}

@Test func `an external value can neither forge a second line nor end the JSON`() throws {
    let lines = written { $0.info("got", .field("name", "x\n{\"level\":\"error\"}\u{1}\\\u{7f}")) }
    #expect(lines.count == 1)
    let object = try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any]
    #expect(object?["name"] as? String == "x\n{\"level\":\"error\"}\u{1}\\\u{7f}")
}

@Test func `errors are remembered with their component and their count`() {
    var errors: [LoggedError] = []
    _ = written { log in
        log.warning("slow")
        for _ in 0..<20 { log.forComponent("insight").error("cannot open a file", .field("lane", 1)) }
        log.error("cannot open a file")
        errors = log.errors
    }
    #expect(
        errors == [
            LoggedError(component: "insight", message: "cannot open a file", count: 20),
            LoggedError(component: "test", message: "cannot open a file", count: 1),
        ])
}

@Test func `lines below the level are not written`() {
    let lines = written(level: .warning) { log in
        log.debug("no")
        log.info("no")
        log.warning("yes")
        log.error("yes")
    }
    #expect(lines.count == 2)
}

@Test func `tokens, bearer credentials, JSON web tokens and keys never reach the log`() {
    let token = String(repeating: "aB3f", count: 20)
    let jwt = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJBIn0.c2lnbmF0dXJl"
    let lines = written { log in
        log.info(
            "push", .field("path", "/3/device/\(token)"), .field("header", "authorization: bearer \(jwt)"))
        log.info("key", .field("file", "-----BEGIN PRIVATE KEY-----\nMIGHAg"), .field("jwt", jwt))
    }
    let text = lines.joined()
    #expect(!text.contains("aB3f") && !text.contains("eyJ") && !text.contains("MIGHAg"))
    #expect(text.contains("/3/device/<redacted>"))
}

@Test func `short hexadecimal ids stay readable`() {
    #expect(
        Redaction.scrub("send 0123456789abcdef0123456789abcdef") == "send 0123456789abcdef0123456789abcdef")
    #expect(Redaction.scrub("") == "")
}

@Test(arguments: [LogLevel.warning, .error])
func `equal warnings and errors are suppressed after the tenth and counted when the window ends`(
    _ level: LogLevel
) {
    let pipe = Pipe()
    let second = Atomic<Int64>(0)
    let sink = LogSink(level: .info, format: .json, descriptor: pipe.fileHandleForWriting.fileDescriptor) {
        WallTime(milliseconds: second.load(ordering: .relaxed) * 1000)
    }
    let log = Log(component: "test", sink: sink)
    // Lines are equal if their level and their message are. Their fields may differ.
    func logEqualLine(_ number: Int) {
        if level == .error { log.error("again", .field("number", number)) } else { log.warning("again") }
    }
    for number in 0..<25 { logEqualLine(number) }
    log.error("another message is not suppressed with it")
    second.store(EqualLineLimiter.windowSeconds, ordering: .relaxed)
    logEqualLine(25)
    sink.flush()
    try? pipe.fileHandleForWriting.close()
    let lines = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(
        separator: "\n")
    // Ten of the 25 lines, the other message, and the line after the window.
    #expect(lines.count == 12)
    #expect(lines.last?.contains(#""suppressed":15"#) == true)
}

@Test func `a clock that is set back does not suppress lines for longer`() {
    var limiter = EqualLineLimiter()
    let message: StaticString = "again"
    for number in 0..<12 {
        let suppressedBefore = limiter.admit(level: .warning, message: message, atSeconds: 3600)
        #expect(suppressedBefore == (number < EqualLineLimiter.linesPerWindow ? 0 : nil))
    }
    // Two lines were suppressed before the clock was set back.
    #expect(limiter.admit(level: .warning, message: message, atSeconds: 0) == 2)
    #expect(limiter.admit(level: .warning, message: message, atSeconds: 1) == 0)
}

@Test func `no line is cut if the output does not block`() {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    let sink = LogSink(level: .info, format: .json, descriptor: descriptor)
    let log = Log(component: "test", sink: sink)
    // More than a pipe holds, and less than the sink.
    let padding = String(repeating: "x ", count: 500)
    for _ in 0..<400 { log.info("full", .field("padding", padding)) }
    var text = ""
    while text.utf8.count(where: { $0 == UInt8(ascii: "\n") }) < 400 {
        let data = pipe.fileHandleForReading.availableData
        if data.isEmpty { break }
        text += String(decoding: data, as: UTF8.self)
    }
    let lines = text.split(separator: "\n")
    #expect(lines.count == 400 && lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
    sink.flush()
    try? pipe.fileHandleForWriting.close()
}

@Test func `a reader that does not read blocks no writer and learns the number of dropped lines`() {
    let pipe = Pipe()
    let sink = LogSink(level: .info, format: .json, descriptor: pipe.fileHandleForWriting.fileDescriptor)
    let log = Log(component: "test", sink: sink)
    let padding = String(repeating: "x ", count: 500)
    // This is more than the pipe and the sink can hold. No reader reads yet, but every call must return.
    for _ in 0..<4000 { log.info("full", .field("padding", padding)) }
    var text = ""
    let handle = pipe.fileHandleForReading
    while !text.contains("lines dropped") {
        let data = handle.availableData
        if data.isEmpty { break }
        text = String((text + String(decoding: data, as: UTF8.self)).suffix(4096))
    }
    #expect(text.contains("lines dropped"))
    // The rest must be read, or `flush` would wait for the full pipe.
    Thread { while !pipe.fileHandleForReading.availableData.isEmpty {} }.start()
    sink.flush()
    try? pipe.fileHandleForWriting.close()
}
