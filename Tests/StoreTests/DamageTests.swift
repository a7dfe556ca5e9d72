import Foundation
import Lifecycle
import Simulation
import Telemetry
import Testing

@testable import Store

/// Files that a disk or a person changed. Every file that opens must be readable to its end. LMDB reads through a
/// memory map, so a failure of these tests is a dead test process. The mark is a small file beside the data. It says
/// whether the data was closed, and how long it was.
struct DamageTests {
    private static let pageBytes = 4_096

    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/data.mdb" }

    private func open() throws -> StateFile {
        try StateFile(
            directory: directory.path,
            conditions: ReuseConditions(schema: 1, origin: "here", ageMaxMilliseconds: .max),
            tables: ["rows"],
            now: .now(), boot: BootID("boot"))
    }

    /// Fills a file with three levels of pages, long values, and a list of free pages.
    private func fillFile(using random: inout SeededGenerator) throws -> [UInt8] {
        let file = try open()
        let table = file.table(named: "rows")
        for round in 0..<6 {
            var batch = RowBatch()
            for number in 0..<700 {
                let key = Int64(number).bigEndianBytes + [UInt8](repeating: 7, count: 60)
                if (number + round) % 5 == 0 {
                    batch.remove(key.span)
                } else {
                    let byteCounts = number % 100 == 1 ? 6_000...9_000 : 0...40
                    batch.putWithChecksum(key.span, value: random.bytes(count: byteCounts).span)
                }
            }
            try file.write { transaction throws(StoreError) in
                try transaction.apply(batch, to: table)
                try transaction.setAppliedProgress(
                    AppliedProgress(offset: Int64(round), completeUntil: .now()), ofTopic: "t", partition: 0)
            }
        }
        try file.close()
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Writes a file and its mark as if a disk had changed them.
    private func replaceFile(with bytes: [UInt8], mark: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try? FileManager.default.removeItem(atPath: path + "-lock")
        try mark.write(toFile: directory.path + "/mark", atomically: true, encoding: .utf8)
    }

    /// Reads all rows, and writes one.
    private func readAllAndWrite() throws -> (state: OpeningState, rows: [StoredRow]) {
        let file = try open()
        let rows = try file.environment.rows(of: file.table(named: "rows"))
        // Writing also walks the lists of free pages.
        try file.environment.put(
            [1, 2, 3], value: [UInt8](repeating: 1, count: 5000), in: file.table(named: "rows"))
        return (file.openingState, rows)
    }

    private func readAll() throws -> [StoredRow] {
        let file = try open()
        let rows = try file.environment.rows(of: file.table(named: "rows"))
        try file.close()
        return rows
    }

    @Test func `an intact file has no damage`() throws {
        var random = SeededGenerator(seed: 1)
        _ = try fillFile(using: &random)
        let damage = try TreeCheck.damage(in: path)
        #expect(damage == nil)
        #expect(try readAllAndWrite().state == .resumed)
    }

    @Test func `a file truncated anywhere is discarded`() throws {
        var random = SeededGenerator(seed: 2)
        let intact = try fillFile(using: &random)
        let allRows = try readAll()
        let cleanMark = try String(contentsOfFile: directory.path + "/mark", encoding: .utf8)
        let openMark = cleanMark.replacing(/condition clean [\d ]+/, with: "condition open").replacing(
            "committed false", with: "committed true")
        for round in 0..<40 {
            // The first lengths are those of one byte, of one meta page, and of both.
            let fixedLengths = [1, Self.pageBytes, 2 * Self.pageBytes]
            let length =
                round < fixedLengths.count
                ? fixedLengths[round] : Int.random(in: 1..<intact.count, using: &random)
            let isMarkedOpen = round % 2 == 0
            try replaceFile(with: Array(intact[..<length]), mark: isMarkedOpen ? openMark : cleanMark)
            let (state, rows) = try readAllAndWrite()
            switch state {
            case .discarded(.damaged): break
            // Only free pages may be missing, and only if the mark does not contain the file's length.
            case .resumed: #expect(isMarkedOpen && rows == allRows, "\(length) bytes were accepted")
            default: Issue.record("the file of \(length) bytes was opened as \(state)")
            }
        }
    }

    @Test(arguments: 1...4) func `flipped bytes never end the process`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let intact = try fillFile(using: &random)
        let mark = try String(contentsOfFile: directory.path + "/mark", encoding: .utf8)
        var discardedCount = 0
        for round in 0..<40 {
            var bytes = intact
            for _ in 0..<(1 << (round % 7)) {
                // Half of the flips hit the first bytes of a page, which contain its structure.
                let page = Int.random(in: 0..<bytes.count / Self.pageBytes, using: &random) * Self.pageBytes
                let positions = 0..<(Bool.random(using: &random) ? 64 : Self.pageBytes)
                let position = page + Int.random(in: positions, using: &random)
                bytes[position] ^= UInt8.random(in: 1...255, using: &random)
            }
            try replaceFile(with: bytes, mark: mark)
            if try readAllAndWrite().state != .resumed { discardedCount += 1 }
        }
        #expect(discardedCount > 15)
    }
}
