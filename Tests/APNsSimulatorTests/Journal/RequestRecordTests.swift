import APNs
import Cryptography
import Foundation
import HTTP2
import Identifiers
import Lifecycle
import Payloads
import ProcessTesting
import Telemetry
import Testing

@testable import APNsSimulator

/// The file of records, one for each request, for programs that check a load test.
struct RequestRecordTests {
    private func records(in path: String) throws -> [RequestRecord] {
        var records: [RequestRecord] = []
        try RequestRecordReader(path: path).forEachRecord { records.append($0) }
        return records
    }

    /// Writes records through a journal, as the simulator does.
    private func withJournal(
        writingTo file: RequestRecordFile, _ body: @escaping @Sendable (Journal) throws -> Void
    ) throws {
        let loop = try EventLoop(name: "journal")
        try loop.start()
        defer { loop.stop() }
        let result = loop.perform {
            let journal = Journal(
                on: loop, limits: JournalLimits(), file: nil, recordFile: file, metrics: Metrics())
            return Result { try body(journal) }
        }
        try result?.get()
    }

    @Test func `a record has the values for a checker, and stays when the process continues`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.filePath(named: "records")
        let entry = journalEntry(1, id: PushID(high: 1, low: 2), end: nil) { $0.timestamp = 1_763_632_800 }
        for round in 0..<3 {
            let file = try RequestRecordFile(path: path, log: .silent)
            try withJournal(writingTo: file) { journal throws in
                var answered = entry
                answered.outcome = .answered(status: 410, reason: "Unregistered", isSent: false)
                journal.willAnswer(&answered)
                #expect(
                    try records(in: path).last?.outcome == .answered,
                    "the record is written before its answer")
                #expect(try records(in: path).last?.endedAt == entry.facts.receivedAt + 5)
                answered.outcome = .answered(status: 410, reason: "Unregistered", isSent: true)
                answered.endedAt += 7
                journal.didEnd(answered)
                #expect(try records(in: path).count == round + 1)
            }
            file.close()
        }
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(size == 3 * RequestRecord.byteCount)
        let written = try records(in: path)
        #expect(written.map(\.number) == [1, 2, 3])
        for record in written {
            #expect(record.id == PushID(high: 1, low: 2) && record.timestamp == 1_763_632_800)
            #expect(record.status == 410 && record.reason == "Unregistered" && record.outcome == .sent)
            #expect(record.kind == .push && record.event == .update && record.isDelivered)
            #expect(!record.isSandbox && record.connection == 2 && record.stream == 3)
            #expect(record.endedAt == entry.endedAt + 7 && record.receivedAt == entry.facts.receivedAt)
            let hash = SHA256.digest(of: ScriptSamples.token(0).bytes).prefix(8)
            #expect(record.targetHigh == hash.reduce(0) { $0 << 8 | UInt64($1) })
        }
    }

    @Test(arguments: [
        (
            JournalEntry.Outcome.answered(status: 200, reason: nil, isSent: false),
            RequestRecord.RecordOutcome.lost
        ),
        (.answered(status: 200, reason: nil, isSent: true), .sent), (.notProcessed, .notProcessed),
        (.reset(.refusedStream), .reset), (.silence, .silence),
    ])
    func `every end has a record`(end: JournalEntry.Outcome, expected: RequestRecord.RecordOutcome) throws {
        let directory = try TemporaryDirectory()
        let file = try RequestRecordFile(path: directory.filePath(named: "records"), log: .silent)
        try withJournal(writingTo: file) { journal in
            var entry = journalEntry(1, end: end, delivered: false)
            if case .answered = end { journal.willAnswer(&entry) }
            journal.didEnd(entry)
        }
        file.close()
        let written = try records(in: directory.filePath(named: "records"))
        #expect(written.map(\.outcome) == [expected] && written.first?.isDelivered == false)
        #expect(written.first?.resetCode == (expected == .reset ? 7 : 0))
    }

    @Test func `a file that was not closed continues after its last record`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.filePath(named: "records")
        let killed = try RequestRecordFile(path: path, log: .silent)
        for number in 1...1_000 { _ = killed.append(RequestRecord(journalEntry(number))) }
        #expect(try records(in: path).count == 1_000, "a reader sees records while they are written")
        let next = try RequestRecordFile(path: path, log: .silent)
        #expect(next.count == 1_000)
        next.appendStart(at: 77)
        let last = try #require(try records(in: path).last)
        #expect(last.number == 1_001 && last.kind == .simulatorStarted && last.receivedAt == 77)
        next.close()
        #expect(try records(in: path).count == 1_001)
    }

    @Test func `a file without records is not changed`() throws {
        let directory = try TemporaryDirectory()
        for text in ["{}\n", String(repeating: "x", count: 128), String(repeating: "x", count: 300)] {
            let path = try directory.writeFile(named: "records", content: text)
            #expect(throws: InputFileError.self) { try RequestRecordFile(path: path, log: .silent) }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
    }

    @Test func `every answered push has its record, even if the simulator is killed`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.filePath(named: "records")
        let process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "apns-simulator", "--data", directory.filePath(named: "apns"), "--port", "0",
                "--sandbox-port", "0",
                "--channels-port", "0", "--sandbox-channels-port", "0", "--control-listen", "127.0.0.1:0",
                "--records", path,
            ])
        try await process.waitForOutput(containing: "Stop it:")
        let push = try #require(process.output.split(separator: "\n").first { $0.hasPrefix("Try it:") })
        let line = push.dropFirst("Try it:".count)
        let many = try ChildProcess("bash", arguments: ["-c", "for i in 1 2 3 4 5; do \(line); done"])
        #expect(try await many.exitStatus() == 0)
        process.send(signal: SIGKILL)
        _ = try await process.exitStatus()
        let written = try records(in: path)
        #expect(written.map(\.kind) == [.simulatorStarted] + Array(repeating: .push, count: 5))
        #expect(written.dropFirst().allSatisfy { $0.status == 200 && $0.timestamp == 1_763_632_800 })
        for record in written.dropFirst() {
            #expect(many.output.contains("apns-id: \(record.id)"), "\(many.output)")
        }
    }
}
