import Foundation
import Lifecycle
import Simulation
import Telemetry
import Testing

@testable import Store

/// Damage after which a file is still a valid LMDB file, but with other content. Each kind could hide rows from
/// readers.
///
/// A test fills a file, changes its bytes, and opens it again. The file must be discarded, or have all rows, because
/// the change may have hit a free page. An LMDB file begins with two meta pages, of which the newer one counts.
struct HiddenDamageTests {
    /// Positions in a meta page: LMDB's page header has 16 bytes, and `MDB_meta` follows.
    private enum MetaPosition {
        /// The description of the table that has the names of all tables (`MDB_db`), with 48 bytes.
        static let namesTable = 88
        static let namesTableFlags = namesTable + 4
        static let namesTableRowCount = namesTable + 32
        static let namesTableRoot = namesTable + 40
        static let transactionNumber = 144
        static let byteCount = 152
    }

    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/data.mdb" }
    private static let rowCount = 150
    private static let pageBytes = 4_096
    /// The position in a page header of the end of the page's free space (`mp_upper`).
    private static let freeSpaceEnd = 14

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

    /// Writes every row with this value, and returns the bytes of the file. The pages of the previous filling are then
    /// outdated.
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
        // The first two pages are meta pages.
        (2..<bytes.count / Self.pageBytes).map { page($0, of: bytes) }.filter { $0.flags == .leaf }
    }

    /// Returns all positions of a key's bytes behind the meta pages.
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
        /// The previous transaction would count, or the next one would overwrite the wrong meta page.
        case numberOfAMetaPage
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
        case .pageOfAnotherTime: variants = variantsWithOutdatedPages(of: intact, from: old)
        case .orderOfTheNames:
            let position = newerMetaPage(of: intact) * Self.pageBytes + MetaPosition.namesTableFlags
            change(byteAt: position, flipping: 2)
        case .numberOfAMetaPage:
            for bit in [0, 1, 2, 3, 31, 62, 63] {
                for metaPage in 0..<2 {
                    let number = metaPage * Self.pageBytes + MetaPosition.transactionNumber
                    change(byteAt: number + bit / 8, flipping: 1 << (bit % 8))
                }
            }
        case .fillingOfAPage:
            for page in leafPages(of: intact) {
                change(byteAt: page.number * Self.pageBytes + Self.freeSpaceEnd, flipping: 8)
            }
        case .sums:
            // An entry is the length of the table's name, the name, and the sum in eight bytes. This is its last byte.
            for position in positions(of: [4] + Array("rows".utf8), in: intact) {
                change(byteAt: position + 12, flipping: 1)
            }
        }
        try #require(!variants.isEmpty)
        // Free pages look like pages in use. A change there loses nothing.
        var discardedCount = 0
        for bytes in variants where bytes != intact {
            try replaceFile(with: bytes, mark: mark)
            if try openAndCheck("\(damage)") { discardedCount += 1 }
        }
        // Meta pages are always in use.
        let isAlwaysInUse = damage == .orderOfTheNames || damage == .numberOfAMetaPage
        #expect(isAlwaysInUse ? discardedCount == variants.count : discardedCount > 0)
    }

    /// Returns the number of the meta page, 0 or 1, that has the newer transaction.
    private func newerMetaPage(of bytes: [UInt8]) -> Int {
        let numbers = (0..<2).map { page($0, of: bytes).integer(at: MetaPosition.transactionNumber, size: 8) }
        return numbers[0] > numbers[1] ? 0 : 1
    }

    /// Returns copies of a file. In each, one leaf page has the content of an older page with the same keys.
    private func variantsWithOutdatedPages(of intact: [UInt8], from old: [UInt8]) -> [[UInt8]] {
        var variants: [[UInt8]] = []
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
        return variants
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
        let keys = try file.environment.rows(of: table).map(\.key)
        #expect(keys == (0..<Self.rowCount).map(Self.key), "\(comment)")
        #expect(try file.environment.rows(of: names).map(\.key) == [[1], [2]], "\(comment)")
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

    // Half of the bits are in meta pages and in the first bytes of pages, which matter most.
    @Test func `a bit changed anywhere is detected or changes nothing`() throws {
        _ = try fillRows(with: 1)
        let intact = try fillRows(with: 2)
        let mark = try mark()
        let seed = UInt64.random(in: 0...999_999)
        var random = SeededGenerator(seed: seed)
        var discardedCount = 0
        for round in 0..<trialCount(base: 60) {
            var bytes = intact
            let pageCount = round % 4 == 0 ? 2 : bytes.count / Self.pageBytes
            let page = random.number(below: pageCount)
            let firstBytes = page < 2 ? MetaPosition.byteCount : 40
            let position = random.number(below: round % 2 == 0 ? firstBytes : Self.pageBytes)
            bytes[Self.pageBytes * page + position] ^= 1 << random.number(below: 8)
            try replaceFile(with: bytes, mark: mark)
            if try openAndCheck("seed \(seed), round \(round)") { discardedCount += 1 }
        }
        #expect(discardedCount > 0)
    }

    @Test func `a file that lost its tables differs from a new file`() throws {
        let intact = try fillRows(with: 1)
        let mark = try mark()
        // In each meta page, the table of names becomes an empty one: no row, and -1 as its root page.
        var bytes = intact
        for metaPage in 0..<2 {
            for byte in 0..<8 {
                bytes[Self.pageBytes * metaPage + MetaPosition.namesTableRowCount + byte] = 0
                bytes[Self.pageBytes * metaPage + MetaPosition.namesTableRoot + byte] = 0xFF
            }
        }
        try replaceFile(with: bytes, mark: mark)
        guard case .discarded(.damaged) = try open().openingState else {
            Issue.record("the missing tables were not detected")
            return
        }
    }
}
