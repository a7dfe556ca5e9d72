import Foundation
import Simulation
import Telemetry
import Testing

@testable import Store

/// Changes after which a file is still a file of LMDB's: it can be walked to its end, and says something
/// else. Each kind has led past rows, or would have.
struct HiddenDamageTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/data.mdb" }
    private static let count = 150
    private static let partition = TopicPartition("t", 0)

    private static func key(_ number: Int) -> [UInt8] {
        Array("row \(number / 100)\(number / 10 % 10)\(number % 10)".utf8)
    }

    private func open() throws -> StateFile {
        try StateFile(
            directory.path, Terms(schema: 1, origin: "here", ageMaxMilliseconds: .max),
            tables: ["names", "rows"], now: .now(), boot: BootID("boot"))
    }

    /// Every row anew, in place: what the pages of the last filling had is of another time now.
    private func fill(_ value: UInt8) throws -> [UInt8] {
        let file = try open()
        let (names, table) = (file.table("names"), file.table("rows"))
        try file.write { transaction throws(StoreError) in
            for number in 0..<Self.count {
                let value = [UInt8](repeating: value, count: number == 70 ? 5000 : 60)
                try transaction.put(Self.key(number).span, value.span, in: table)
            }
            try transaction.put([value].span, [value].span, in: names)
            try transaction.setApplied(Applied(offset: Int64(value), asOf: .now()), of: Self.partition)
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
        (2..<bytes.count / 4096).map { page($0, of: bytes) }.filter { $0.kind == .leaf }
    }

    /// Where a key's bytes are, each time that they are there.
    private func places(of key: [UInt8], in bytes: [UInt8]) -> [Int] {
        (8192..<bytes.count - key.count).filter { bytes[$0..<$0 + key.count].elementsEqual(key) }
    }

    enum Damage: String, CaseIterable, Sendable {
        /// LMDB would make a table of the name that it misses.
        case nameOfATable
        /// A search goes past it, though a walk finds all rows in order.
        case keyOfARow
        /// Rows that are whole, each with its sum, and not the newest.
        case pageOfAnotherTime
        /// Names would be looked for in another order than they are in.
        case orderOfTheNames
        /// The transaction before the last would stand, or the next one be written over the wrong head.
        case numberOfAHead
        /// The next row would be written over others.
        case fillingOfAPage
        /// What the tables hold is told by them alone.
        case sums
    }

    @Test(arguments: Damage.allCases)
    func `what would lead past rows is found out at the opening`(_ damage: Damage) throws {
        let old = try fill(1)
        let whole = try fill(2)
        let mark = try mark()
        let newer = page(0, of: whole).integer(144, 8) > page(1, of: whole).integer(144, 8) ? 0 : 1
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
            // To "row 14:", which is behind all others too.
            for place in places(of: Self.key(149), in: whole) { change(place + 6, 3) }
        case .pageOfAnotherTime:
            let news = leaves(whole)
            for page in leaves(old) {
                let first = page.node(0).map { array($0.key) }
                for new in news where new.nodeCount == page.nodeCount && new.bytes != page.bytes {
                    guard new.node(0).map({ array($0.key) }) == first else { continue }
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
        // Pages that are free by now look like those in use: changed there, nothing is lost.
        var discarded = 0
        for bytes in variants where bytes != whole {
            try put(bytes, mark: mark)
            if try isDiscardedOrHasAll("\(damage)") { discarded += 1 }
        }
        let isInUse = damage == .orderOfTheNames || damage == .numberOfAHead
        #expect(isInUse ? discarded == variants.count : discarded > 0)
    }

    /// All rows, walked and looked up, or none of them; and what follows can be written.
    private func isDiscardedOrHasAll(_ what: String) throws -> Bool {
        let file = try open()
        let (names, table) = (file.table("names"), file.table("rows"))
        if case .discarded(.damaged) = file.beginning {
            try file.close()
            return true
        }
        #expect(file.beginning == .resumed, "\(what)")
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
        #expect(again.beginning == .resumed, "\(what)")
        #expect(try again.environment.value(Self.key(149), in: again.table("rows"))?.first == 3, "\(what)")
        try again.close()
        return false
    }

    /// Half of the bits are of heads and of pages' first bytes, which are few and say most.
    @Test func `a bit that is changed anywhere is found out or changes nothing`() throws {
        _ = try fill(1)
        let whole = try fill(2)
        let mark = try mark()
        let seed = UInt64.random(in: 0...999_999)
        var random = SeededGenerator(seed)
        var discarded = 0
        for round in 0..<trials(60) {
            var bytes = whole
            let page = round % 4 == 0 ? random.below(2) : random.below(bytes.count / 4096)
            let place = round % 2 == 0 ? random.below(page < 2 ? 152 : 40) : random.below(4096)
            bytes[4096 * page + place] ^= 1 << random.below(8)
            try put(bytes, mark: mark)
            if try isDiscardedOrHasAll("seed \(seed), round \(round)") { discarded += 1 }
        }
        #expect(discarded > 0)
    }

    @Test func `a file that has lost its tables is not one that never had any`() throws {
        let whole = try fill(1)
        let mark = try mark()
        // The root of the names, as if there were none.
        var bytes = whole
        for head in 0..<2 {
            for place in 88 + 32..<88 + 40 { bytes[4096 * head + place] = 0 }
            for place in 88 + 40..<88 + 48 { bytes[4096 * head + place] = 0xFF }
        }
        try put(bytes, mark: mark)
        guard case .discarded(.damaged) = try open().beginning else {
            return #expect(Bool(false), "no table is missed")
        }
    }
}
