import Foundation
import Identifiers
import InstallationRecords
import JSON
import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import APNsSimulator

private func reports(_ numbers: Range<Int>) -> [Report] {
    numbers.map {
        Report(app: "shop", environment: .production, installation: "phone-\($0)", kind: .heartbeat)
    }
}

private func installations(_ body: [UInt8]) throws -> [String] {
    try ReportServer.reports(in: body).map { $0.installation ?? "" }
}

private final class Held: @unchecked Sendable { var poster: ReportPoster? }

private func run(
    _ steps: [ReportServer.Step], reports count: Int, log: Log = .silent,
    pauses: ClosedRange<Int> = ReportPoster.pauseMilliseconds,
    _ check: (ReportServer, ReportCounts) throws -> Void
) async throws {
    let loop = try EventLoop(name: "poster-test")
    try loop.start()
    defer { loop.stop() }
    let server = try ReportServer(steps, on: loop)
    let target = ReportPoster.Target(host: "127.0.0.1", port: server.port, key: "secret")
    let held = Held()
    loop.perform {
        let poster = ReportPoster(to: target, on: loop, log: log, pauses: pauses)
        held.poster = poster
        poster.accept(reports(0..<count))
    }
    try await eventually("all reports are settled") {
        loop.perform { held.poster.map { $0.counts.accepted + $0.counts.refused } } == count
    }
    let counts = loop.perform {
        defer { held.poster?.stop() }
        return held.poster?.counts
    }
    try check(server, #require(counts ?? nil))
    server.stop()
}

@Test func `reports are posted in batches of a thousand, with the key, in order`() async throws {
    try await run([], reports: 2_500) { server, counts in
        #expect(counts == .init(accepted: 2_500, refused: 0, retries: 0))
        let posted = try server.bodies.map(installations)
        #expect(posted.map(\.count) == [1_000, 1_000, 500])
        #expect(posted.flatMap(\.self) == (0..<2_500).map { "phone-\($0)" })
        #expect(server.heads[0].hasPrefix("POST /v1/reports HTTP/1.1\r\n"))
        #expect(server.heads[0].contains("\r\nAuthorization: Bearer secret\r\n"))
    }
}

@Test func `reports that were not accepted are posted again, whatever the failure`() async throws {
    try await run(
        [
            .answer(503), .close, .garbage, .answer(401), .answerAndClose(429), .answerAndClose(202),
            .answer(200),
        ],
        reports: 1_200
    ) { server, counts in
        #expect(counts == .init(accepted: 1_200, refused: 0, retries: 5))
        let sizes = try server.bodies.map { try installations($0).count }
        #expect(sizes == [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 200])
    }
}

@Test func `reports that the server refuses permanently are dropped and counted`() async throws {
    try await run([.answer(400), .answerWithoutLength(202)], reports: 1_500) { _, counts in
        #expect(counts == .init(accepted: 500, refused: 1_000, retries: 0))
    }
}

@Test func `a refused key is tried again for some minutes, and then never again`() async throws {
    let directory = try TemporaryDirectory()
    let file = try FileHandle(
        forWritingTo: URL(fileURLWithPath: directory.writeFile(named: "log", content: "")))
    let sink = LogSink(level: .info, format: .text, descriptor: file.fileDescriptor)
    let steps = [ReportServer.Step](repeating: .answer(403), count: ReportPoster.keyRefusalsMax - 1)
    // In between the key is accepted, which resets the count.
    let good = steps + [.answer(202)] + steps
    try await run(good, reports: 1_500, log: Log(component: "test", sink: sink), pauses: 1...2) {
        server, counts in
        #expect(counts.accepted == 1_500 && counts.refused == 0)
        #expect(counts.retries == 2 * (ReportPoster.keyRefusalsMax - 1))
    }
    let bad = steps + [.answer(401)]
    try await run(bad, reports: 1_500, log: Log(component: "test", sink: sink), pauses: 1...2) {
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
    let held = Held()
    loop.perform {
        held.poster = ReportPoster(
            to: .init(host: "127.0.0.1", port: server.port, key: "k"), on: loop, log: .silent, pauses: 1...2)
        held.poster?.accept(reports(0..<3))
    }
    try await eventually("giving up") { loop.perform { held.poster?.counts.refused } == 3 }
    let counts = loop.perform {
        held.poster?.accept(reports(0..<7))
        return held.poster.map { ($0.counts.refused, $0.freeCapacity, $0.lastProblem) }
    }
    let (refused, room, trouble) = try #require(counts ?? nil)
    #expect(refused == 10 && room == ReportPoster.waitingMax)
    #expect(trouble?.contains("refused the key 20 times") == true)
    #expect(server.bodies.count == ReportPoster.keyRefusalsMax, "no more reports were posted")
    server.stop()
}

@Test func `a poster takes no more than it can hold`() throws {
    let loop = try EventLoop(name: "poster-room")
    try loop.start()
    defer { loop.stop() }
    let room = loop.perform {
        let poster = ReportPoster(to: .init(host: "127.0.0.1", port: 9, key: "k"), on: loop, log: .silent)
        poster.accept(reports(0..<ReportPoster.waitingMax))
        defer { poster.stop() }
        return poster.freeCapacity
    }
    #expect(room == 0)
}
