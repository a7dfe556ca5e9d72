import Foundation
import Identifiers
import InstallationRecords
import JSON
import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import APNsSimulator

// The posts of phones' reports to a server that answers by a script.

/// Returns one report of each phone.
private func reports(ofPhones numbers: Range<Int>) -> [Report] {
    numbers.map {
        Report(app: "shop", environment: .production, installation: "phone-\($0)", kind: .heartbeat)
    }
}

/// Returns the installations that reported in a body.
private func installations(in body: [UInt8]) throws -> [String] {
    try ReportServer.reports(in: body).map { $0.installation ?? "" }
}

/// Holds a poster that is used only on its loop.
private final class PosterBox: @unchecked Sendable { var poster: ReportPoster? }

/// Posts `count` reports to a server with these steps until each was accepted or refused for good. Then `check` gets
/// the server and the poster's counts.
private func postReports(
    count: Int, toServerWith steps: [ReportServer.Step], log: Log = .silent,
    pauses: ClosedRange<Int> = ReportPoster.pauseMilliseconds,
    check: (ReportServer, ReportCounts) throws -> Void
) async throws {
    let loop = try EventLoop(name: "poster-test")
    try loop.start()
    defer { loop.stop() }
    let server = try ReportServer(steps, on: loop)
    let target = ReportPoster.Target(host: "127.0.0.1", port: server.port, key: "secret")
    let box = PosterBox()
    loop.perform {
        let poster = ReportPoster(to: target, on: loop, log: log, pauses: pauses)
        box.poster = poster
        poster.accept(reports(ofPhones: 0..<count))
    }
    try await eventually("all reports are settled") {
        loop.perform { box.poster.map { $0.counts.accepted + $0.counts.refused } } == count
    }
    let counts = loop.perform {
        let counts = box.poster?.counts
        box.poster?.stop()
        return counts
    }
    try check(server, #require(counts ?? nil))
    server.stop()
}

@Test func `reports are posted in batches of a thousand, with the key, in order`() async throws {
    try await postReports(count: 2_500, toServerWith: []) { server, counts in
        #expect(counts == .init(accepted: 2_500, refused: 0, retries: 0))
        let posted = try server.bodies.map(installations(in:))
        #expect(posted.map(\.count) == [1_000, 1_000, 500])
        #expect(posted.flatMap(\.self) == (0..<2_500).map { "phone-\($0)" })
        #expect(server.heads[0].hasPrefix("POST /v1/reports HTTP/1.1\r\n"))
        #expect(server.heads[0].contains("\r\nAuthorization: Bearer secret\r\n"))
    }
}

@Test func `reports that were not accepted are posted again, whatever the failure`() async throws {
    try await postReports(
        count: 1_200,
        toServerWith: [
            .answer(503), .close, .garbage, .answer(401), .answerAndClose(429), .answerAndClose(202),
            .answer(200),
        ]
    ) { server, counts in
        #expect(counts == .init(accepted: 1_200, refused: 0, retries: 5))
        let sizes = try server.bodies.map { try installations(in: $0).count }
        #expect(sizes == [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 200])
    }
}

@Test func `reports that the server refuses permanently are dropped and counted`() async throws {
    try await postReports(count: 1_500, toServerWith: [.answer(400), .answerWithoutLength(202)]) {
        _, counts in
        #expect(counts == .init(accepted: 500, refused: 1_000, retries: 0))
    }
}

@Test func `a refused key is tried again for some minutes, and then never again`() async throws {
    let directory = try TemporaryDirectory()
    let file = try FileHandle(
        forWritingTo: URL(fileURLWithPath: directory.writeFile(named: "log", content: "")))
    let sink = LogSink(level: .info, format: .text, descriptor: file.fileDescriptor)
    let log = Log(component: "test", sink: sink)
    let refusals = [ReportServer.Step](repeating: .answer(403), count: ReportPoster.keyRefusalsMax - 1)
    // In between the key is accepted, which resets the count.
    let toleratedRefusals = refusals + [.answer(202)] + refusals
    try await postReports(count: 1_500, toServerWith: toleratedRefusals, log: log, pauses: 1...2) {
        _, counts in
        #expect(counts.accepted == 1_500 && counts.refused == 0)
        #expect(counts.retries == 2 * (ReportPoster.keyRefusalsMax - 1))
    }
    let tooManyRefusals = refusals + [.answer(401)]
    try await postReports(count: 1_500, toServerWith: tooManyRefusals, log: log, pauses: 1...2) {
        server, counts in
        #expect(counts.accepted == 0 && counts.refused == 1_500)
        #expect(server.bodies.count == ReportPoster.keyRefusalsMax)
    }
    sink.flush()
    let lines = try String(contentsOfFile: directory.filePath(named: "log"), encoding: .utf8).split(
        separator: "\n")
    let errors = lines.filter { $0.contains("correct apns-simulator.report-key") }
    #expect(errors.count == 1 && errors[0].contains("401"), "\(lines)")
    #expect(lines.contains { $0.contains("refused the key with status 403") })
}

@Test func `a poster that has given up drops and counts further reports`() async throws {
    let loop = try EventLoop(name: "poster-given-up")
    try loop.start()
    defer { loop.stop() }
    let steps = [ReportServer.Step](repeating: .answer(401), count: ReportPoster.keyRefusalsMax)
    let server = try ReportServer(steps, on: loop)
    let box = PosterBox()
    loop.perform {
        box.poster = ReportPoster(
            to: .init(host: "127.0.0.1", port: server.port, key: "k"), on: loop, log: .silent, pauses: 1...2)
        box.poster?.accept(reports(ofPhones: 0..<3))
    }
    try await eventually("giving up") { loop.perform { box.poster?.counts.refused } == 3 }
    let state = loop.perform {
        box.poster?.accept(reports(ofPhones: 0..<7))
        return box.poster.map { ($0.counts.refused, $0.freeCapacity, $0.lastProblem) }
    }
    let (refused, freeCapacity, lastProblem) = try #require(state ?? nil)
    #expect(refused == 10 && freeCapacity == ReportPoster.waitingMax)
    #expect(lastProblem?.contains("refused the key 20 times") == true)
    #expect(server.bodies.count == ReportPoster.keyRefusalsMax, "no more reports were posted")
    server.stop()
}

@Test func `a poster takes no more than it can hold`() throws {
    let loop = try EventLoop(name: "poster-room")
    try loop.start()
    defer { loop.stop() }
    let freeCapacity = loop.perform {
        let poster = ReportPoster(to: .init(host: "127.0.0.1", port: 9, key: "k"), on: loop, log: .silent)
        poster.accept(reports(ofPhones: 0..<ReportPoster.waitingMax))
        let freeCapacity = poster.freeCapacity
        poster.stop()
        return freeCapacity
    }
    #expect(freeCapacity == 0)
}
