import Foundation
import Identifiers
import JSON
import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import APNsSimulator

/// The journal's file of lines: its content, its rotation, and entries that cannot be written.
struct JournalFileTests {
    private func numbers(_ path: String) throws -> [Int] {
        let reader = JSONReader()
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            try reader.read(Array($0.utf8)) { $0.object()["number"].int() }
        }
    }

    private func entries(_ numbers: ClosedRange<Int>) -> [JournalRing.NumberedEntry] {
        numbers.map { JournalRing.NumberedEntry(number: $0, entry: journalEntry($0)) }
    }

    @Test(arguments: [false, true])
    func `every entry is a line, and existing lines stay`(syncs: Bool) throws {
        let directory = try TemporaryDirectory()
        let path = directory.filePath(named: "journal.jsonl")
        for round in 0..<2 {
            let file = try JournalFile(path: path, syncs: syncs, limits: JournalLimits(), log: .silent)
            for batch in 0..<20 {
                let first = 1 + 1_000 * round + 50 * batch
                file.append(entries(first...first + 49))
            }
            file.stop()
            #expect(file.omittedEntries == 0)
        }
        #expect(try numbers(path) == Array(1...2_000))
    }

    @Test func `no line contains a token or a credential`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.filePath(named: "journal.jsonl")
        let file = try JournalFile(path: path, syncs: false, limits: JournalLimits(), log: .silent)
        let headers = [("authorization", "bearer abc.def.ghi")]
        let entry = journalEntry(1, headers: headers)
        let malformed = journalEntry(1, headers: headers) { $0.target = nil }
        file.append([
            JournalRing.NumberedEntry(number: 1, entry: entry),
            JournalRing.NumberedEntry(number: 2, entry: malformed),
        ])
        file.stop()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!text.contains(String(decoding: ScriptSamples.token(0).hex, as: UTF8.self)))
        #expect(!text.contains("abc.def"))
        #expect(text.contains("/3/device/tok:"))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }

    @Test func `a full file is rotated, and the previous one is kept`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.filePath(named: "journal.jsonl")
        var limits = JournalLimits()
        limits.fileBytesMax = 20_000
        let file = try JournalFile(path: path, syncs: false, limits: limits, log: .silent)
        for number in 1...200 { file.append(entries(number...number)) }
        file.stop()
        let kept = try numbers(path + ".1") + numbers(path)
        #expect(kept == Array((kept.first ?? 0)...200))
        #expect((20...60).contains(kept.count), "two files of 20,000 bytes hold \(kept.count) entries")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count <= 20_000)
    }

    @Test func `entries that cannot wait or be written are counted, and no caller waits`() throws {
        let directory = try TemporaryDirectory()
        var limits = JournalLimits()
        limits.waitingEntriesMax = 10
        let file = try JournalFile(
            path: directory.filePath(named: "a"), syncs: false, limits: limits, log: .silent)
        file.append(entries(1...11))
        file.stop()
        #expect(file.omittedEntries == 11)
        let full = try JournalFile(path: "/dev/full", syncs: false, limits: JournalLimits(), log: .silent)
        full.append(entries(1...3))
        full.stop()
        #expect(full.omittedEntries == 3)
        #expect(throws: SystemError.self) {
            try JournalFile(path: "/nonexistent/journal", syncs: false, limits: limits, log: .silent)
        }
    }
}
