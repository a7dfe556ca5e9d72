import Foundation
import Lifecycle
import Simulation
import Telemetry
import Testing

@testable import Store

/// Damage after which a file is still a valid LMDB file, but with other content. Each kind could hide rows from
/// readers.
struct HiddenDamageTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/data.mdb" }
    private static let rowCount = 150
    private static let pageBytes = 4096

    private static func key(_ number: Int) -> [UInt8] {
        Array("row \(number / 100)\(number / 10 % 10)\(number % 10)".utf8)
    }

    /// One row is so large that it needs overflow pages.
    private static func value(ofRow number: Int, byte: UInt8) -> [UInt8] {
        [UInt8](repeating: byte, count: number == 70 ? 5000 : 60)
    }

    private func open() throws -> StateFile {
        try StateFile(
            directory: directory.path,
            conditions: ReuseConditions(schema: 1, origin: "here", ageMaxMilliseconds: .max),
            tables: ["names", "rows"], now: .now(), boot: BootID("boot"))
    }

    /// Rewrites every row in place. The pages of the previous filling are outdated now.
    private func fillRows(with value: UInt8) throws -> [UInt8] {
        let file = try open()
        let (names, table) = (file.table(named: "names"), file.table(named: "rows"))
        try file.write { transaction throws(StoreError) in
            for number in 0..<Self.rowCount {
                let value = Self.value(ofRow: number, byte: value)
                try transaction.put(Self.key(number).span, value: value.span, in: table)
            }
            try transaction.put([value].span, value: [value].span, in: names)
            try transaction.setAppliedProgress(
                AppliedProgress(offset: Int64(value), completeUntil: .now()), ofTopic: "t", partition: 0)
        }
        try file.close()
        return try bytes()
    }

    private func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }

    /// Writes a file and its mark as if a disk had changed them.
    private func replaceFile(with bytes: [UInt8], mark: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try? FileManager.default.removeItem(atPath: path + "-lock")
        try mark.write(toFile: directory.path + "/mark", atomically: true, encoding: .utf8)
    }

    private func mark() throws -> String {
        try String(contentsOfFile: directory.path + "/mark", encoding: .utf8)
    }

    private func page(_ number: Int, of bytes: [UInt8]) -> Page {
        Page(bytes: Array(bytes[Self.pageBytes * number..<Self.pageBytes * (number + 1)]))
    }

    private func leafPages(of bytes: [UInt8]) -> [Page] {
        // The first two pages are heads.
        (2..<bytes.count / Self.pageBytes).map { page($0, of: bytes) }.filter { $0.flags == .leaf }
    }

    /// Returns all positions of a key's bytes behind the heads.
    private func positions(of key: [UInt8], in bytes: [UInt8]) -> [Int] {
        (2 * Self.pageBytes..<bytes.count - key.count).filter {
            bytes[$0..<$0 + key.count].elementsEqual(key)
        }
    }

    enum Damage: String, CaseIterable, Sendable {
        /// LMDB would create a table with the missing name.
        case nameOfATable
        /// A search would miss it, though a walk finds all rows in order.
        case keyOfARow
        /// Rows that are valid, each with its checksum, but outdated.
        case pageOfAnotherTime
        /// LMDB would search names in another order than the stored one.
        case orderOfTheNames
        /// The previous transaction would count, or the next one would overwrite the wrong head.
        case numberOfAHead
        /// The next row would overwrite others.
        case fillingOfAPage
        /// Only the tables' sums show their content.
        case sums
    }

    @Test(arguments: Damage.allCases)
    func `damage that would hide rows is detected at the opening`(_ damage: Damage) throws {
        let old = try fillRows(with: 1)
        let intact = try fillRows(with: 2)
        let mark = try mark()
        // Bytes 144 to 151 of a head are the number of its transaction.
        let newerHead =
            page(0, of: intact).integer(at: 144, size: 8) > page(1, of: intact).integer(at: 144, size: 8)
            ? 0 : 1
        var variants: [[UInt8]] = []
        func change(byteAt position: Int, flipping bits: UInt8) {
            var bytes = intact
            bytes[position] ^= bits
            variants.append(bytes)
        }
        switch damage {
        case .nameOfATable:
            for position in positions(of: Array("names".utf8), in: intact) {
                change(byteAt: position, flipping: 1)
            }
        case .keyOfARow:
            // The new key is "row 14:", which also sorts behind all others.
            for position in positions(of: Self.key(149), in: intact) {
                change(byteAt: position + 6, flipping: 3)
            }
        case .pageOfAnotherTime:
            let newPages = leafPages(of: intact)
            for page in leafPages(of: old) {
                let firstKey = page.node(at: 0).map { array($0.key) }
                for new in newPages where new.nodeCount == page.nodeCount && new.bytes != page.bytes {
                    guard new.node(at: 0).map({ array($0.key) }) == firstKey else { continue }
                    var bytes = intact
                    let position = Self.pageBytes * new.number + Page.headBytes
                    bytes.replaceSubrange(
                        position..<Self.pageBytes * (new.number + 1), with: page.bytes[Page.headBytes...])
                    variants.append(bytes)
                }
            }
        case .orderOfTheNames: change(byteAt: newerHead * Self.pageBytes + 88 + 4, flipping: 2)
        case .numberOfAHead:
            for bit in [0, 1, 2, 3, 31, 62, 63] {
                for head in 0..<2 {
                    change(byteAt: head * Self.pageBytes + 144 + bit / 8, flipping: 1 << (bit % 8))
                }
            }
        case .fillingOfAPage:
            for page in leafPages(of: intact) {
                change(byteAt: page.number * Self.pageBytes + 14, flipping: 8)
            }
        case .sums:
            for position in positions(of: [4] + Array("rows".utf8), in: intact) {
                change(byteAt: position + 12, flipping: 1)
            }
        }
        try #require(!variants.isEmpty)
        // Free pages look like pages in use. A change there loses nothing.
        var discarded = 0
        for bytes in variants where bytes != intact {
            try replaceFile(with: bytes, mark: mark)
            if try openAndCheck("\(damage)") { discarded += 1 }
        }
        // Heads are always in use.
        let isAlwaysInUse = damage == .orderOfTheNames || damage == .numberOfAHead
        #expect(isAlwaysInUse ? discarded == variants.count : discarded > 0)
    }

    /// Opens the file, and returns whether it was discarded. Otherwise it must have all rows in walks and lookups,
    /// and accept writes.
    private func openAndCheck(_ comment: String) throws -> Bool {
        let file = try open()
        let (names, table) = (file.table(named: "names"), file.table(named: "rows"))
        if case .discarded(.damaged) = file.openingState {
            try file.close()
            return true
        }
        #expect(file.openingState == .resumed, "\(comment)")
        let walkHasAllRows =
            try file.environment.rows(of: table).map { $0[0] } == (0..<Self.rowCount).map(Self.key)
        #expect(
            try walkHasAllRows && file.environment.rows(of: names).map { $0[0] } == [[1], [2]], "\(comment)")
        let foundCount = try (0..<Self.rowCount).count { number in
            let value = Self.value(ofRow: number, byte: 2)
            return try file.environment.value(of: Self.key(number), in: table) == value
        }
        #expect(foundCount == Self.rowCount, "\(comment)")
        try file.close()
        _ = try fillRows(with: 3)
        let reopened = try open()
        #expect(reopened.openingState == .resumed, "\(comment)")
        #expect(
            try reopened.environment.value(of: Self.key(149), in: reopened.table(named: "rows"))?.first == 3,
            "\(comment)")
        try reopened.close()
        return false
    }

    /// Half of the bits are in head pages and in the first bytes of pages, which matter most.
    @Test func `a bit changed anywhere is detected or changes nothing`() throws {
        _ = try fillRows(with: 1)
        let intact = try fillRows(with: 2)
        let mark = try mark()
        let seed = UInt64.random(in: 0...999_999)
        var random = SeededGenerator(seed: seed)
        var discarded = 0
        for round in 0..<trialCount(base: 60) {
            var bytes = intact
            let page =
                round % 4 == 0 ? random.number(below: 2) : random.number(below: bytes.count / Self.pageBytes)
            let position =
                round % 2 == 0
                ? random.number(below: page < 2 ? 152 : 40) : random.number(below: Self.pageBytes)
            bytes[Self.pageBytes * page + position] ^= 1 << random.number(below: 8)
            try replaceFile(with: bytes, mark: mark)
            if try openAndCheck("seed \(seed), round \(round)") { discarded += 1 }
        }
        #expect(discarded > 0)
    }

    @Test func `a file that lost its tables differs from a new file`() throws {
        let intact = try fillRows(with: 1)
        let mark = try mark()
        // In each head, the counts and the root of the table of names, changed to those of an empty table.
        var bytes = intact
        for head in 0..<2 {
            for position in 88 + 32..<88 + 40 { bytes[Self.pageBytes * head + position] = 0 }
            for position in 88 + 40..<88 + 48 { bytes[Self.pageBytes * head + position] = 0xFF }
        }
        try replaceFile(with: bytes, mark: mark)
        guard case .discarded(.damaged) = try open().openingState else {
            return #expect(Bool(false), "the missing tables were not detected")
        }
    }
}
