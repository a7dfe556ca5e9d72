import Foundation
import Lifecycle
import Simulation
import Telemetry
import Testing

@testable import Store

/// Changes after which the file is still a valid LMDB file with other content. Each kind hid rows, or would
/// have hidden them.
struct HiddenDamageTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/data.mdb" }
    private static let count = 150

    private static func key(_ number: Int) -> [UInt8] {
        Array("row \(number / 100)\(number / 10 % 10)\(number % 10)".utf8)
    }

    private func open() throws -> StateFile {
        try StateFile(
            directory: directory.path,
            conditions: ReuseConditions(schema: 1, origin: "here", ageMaxMilliseconds: .max),
            tables: ["names", "rows"], now: .now(), boot: BootID("boot"))
    }

    /// Rewrites every row in place. The pages of the previous filling are outdated now.
    private func fill(_ value: UInt8) throws -> [UInt8] {
        let file = try open()
        let (names, table) = (file.table(named: "names"), file.table(named: "rows"))
        try file.write { transaction throws(StoreError) in
            for number in 0..<Self.count {
                let value = [UInt8](repeating: value, count: number == 70 ? 5000 : 60)
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

    private func put(_ bytes: [UInt8], mark: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try? FileManager.default.removeItem(atPath: path + "-lock")
        try mark.write(toFile: directory.path + "/mark", atomically: true, encoding: .utf8)
    }

    private func mark() throws -> String {
        try String(contentsOfFile: directory.path + "/mark", encoding: .utf8)
    }

    private func page(_ number: Int, of bytes: [UInt8]) -> Page {
        Page(bytes: Array(bytes[4096 * number..<4096 * (number + 1)]))
    }

    private func leaves(_ bytes: [UInt8]) -> [Page] {
        (2..<bytes.count / 4096).map { page($0, of: bytes) }.filter { $0.flags == .leaf }
    }

    /// Returns all positions of a key's bytes.
    private func places(of key: [UInt8], in bytes: [UInt8]) -> [Int] {
        (8192..<bytes.count - key.count).filter { bytes[$0..<$0 + key.count].elementsEqual(key) }
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
        let old = try fill(1)
        let whole = try fill(2)
        let mark = try mark()
        let newer =
            page(0, of: whole).integer(at: 144, size: 8) > page(1, of: whole).integer(at: 144, size: 8)
            ? 0 : 1
        var variants: [[UInt8]] = []
        func change(_ place: Int, _ bits: UInt8) {
            var bytes = whole
            bytes[place] ^= bits
            variants.append(bytes)
        }
        switch damage {
        case .nameOfATable:
            for place in places(of: Array("names".utf8), in: whole) { change(place, 1) }
        case .keyOfARow:
            // The new key is "row 14:", which also sorts behind all others.
            for place in places(of: Self.key(149), in: whole) { change(place + 6, 3) }
        case .pageOfAnotherTime:
            let news = leaves(whole)
            for page in leaves(old) {
                let first = page.node(at: 0).map { array($0.key) }
                for new in news where new.nodeCount == page.nodeCount && new.bytes != page.bytes {
                    guard new.node(at: 0).map({ array($0.key) }) == first else { continue }
                    var bytes = whole
                    let place = 4096 * new.number + Page.headBytes
                    bytes.replaceSubrange(
                        place..<4096 * (new.number + 1), with: page.bytes[Page.headBytes...])
                    variants.append(bytes)
                }
            }
        case .orderOfTheNames: change(newer * 4096 + 88 + 4, 2)
        case .numberOfAHead:
            for bit in [0, 1, 2, 3, 31, 62, 63] {
                for head in 0..<2 { change(head * 4096 + 144 + bit / 8, 1 << (bit % 8)) }
            }
        case .fillingOfAPage:
            for page in leaves(whole) { change(page.number * 4096 + 14, 8) }
        case .sums:
            for place in places(of: [4] + Array("rows".utf8), in: whole) { change(place + 12, 1) }
        }
        try #require(!variants.isEmpty)
        // Free pages look like pages in use. A change there loses nothing.
        var discarded = 0
        for bytes in variants where bytes != whole {
            try put(bytes, mark: mark)
            if try isDiscardedOrHasAll("\(damage)") { discarded += 1 }
        }
        let isInUse = damage == .orderOfTheNames || damage == .numberOfAHead
        #expect(isInUse ? discarded == variants.count : discarded > 0)
    }

    /// Whether the file was discarded. Otherwise it must have all rows in walks and lookups, and accept
    /// writes.
    private func isDiscardedOrHasAll(_ what: String) throws -> Bool {
        let file = try open()
        let (names, table) = (file.table(named: "names"), file.table(named: "rows"))
        if case .discarded(.damaged) = file.openingState {
            try file.close()
            return true
        }
        #expect(file.openingState == .resumed, "\(what)")
        let walked = try rows(file.environment, table).map { $0[0] } == (0..<Self.count).map(Self.key)
        #expect(try walked && rows(file.environment, names).map { $0[0] } == [[1], [2]], "\(what)")
        let found = try (0..<Self.count).count { number in
            let value = [UInt8](repeating: 2, count: number == 70 ? 5000 : 60)
            return try file.environment.value(Self.key(number), in: table) == value
        }
        #expect(found == Self.count, "\(what)")
        try file.close()
        _ = try fill(3)
        let again = try open()
        #expect(again.openingState == .resumed, "\(what)")
        #expect(
            try again.environment.value(Self.key(149), in: again.table(named: "rows"))?.first == 3, "\(what)")
        try again.close()
        return false
    }

    /// Half of the bits are in head pages and in the first bytes of pages, which matter most.
    @Test func `a bit changed anywhere is detected or changes nothing`() throws {
        _ = try fill(1)
        let whole = try fill(2)
        let mark = try mark()
        let seed = UInt64.random(in: 0...999_999)
        var random = SeededGenerator(seed: seed)
        var discarded = 0
        for round in 0..<trialCount(base: 60) {
            var bytes = whole
            let page = round % 4 == 0 ? random.number(below: 2) : random.number(below: bytes.count / 4096)
            let place =
                round % 2 == 0 ? random.number(below: page < 2 ? 152 : 40) : random.number(below: 4096)
            bytes[4096 * page + place] ^= 1 << random.number(below: 8)
            try put(bytes, mark: mark)
            if try isDiscardedOrHasAll("seed \(seed), round \(round)") { discarded += 1 }
        }
        #expect(discarded > 0)
    }

    @Test func `a file that lost its tables differs from a new file`() throws {
        let whole = try fill(1)
        let mark = try mark()
        // The root of the names, changed to an empty root.
        var bytes = whole
        for head in 0..<2 {
            for place in 88 + 32..<88 + 40 { bytes[4096 * head + place] = 0 }
            for place in 88 + 40..<88 + 48 { bytes[4096 * head + place] = 0xFF }
        }
        try put(bytes, mark: mark)
        guard case .discarded(.damaged) = try open().openingState else {
            return #expect(Bool(false), "the missing tables were not detected")
        }
    }
}
