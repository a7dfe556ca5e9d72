import Identifiers
import Simulation
import Testing

@testable import APNsSimulator

/// The newest requests of the journal: pages, filters, and the limit of the ring.
struct JournalRingTests {
    @Test func `pages match a plain list and report missed entries`() {
        for seed in 0..<trialCount(base: 60) {
            var random = SeededGenerator(seed: seed)
            let entriesMax = 1 + random.number(below: 40)
            var ring = JournalRing(entriesMax: entriesMax, bytesMax: .max)
            var all: [JournalEntry] = []
            for number in 1...200 {
                let entry = journalEntry(number, token: random.number(below: 3))
                all.append(entry)
                #expect(ring.append(entry) == number)
                let after = random.number(below: number + 3)
                let limit = 1 + random.number(below: 10)
                var filter = JournalRing.Filter()
                if random.number(below: 2) == 0 { filter.connection = 1 + random.number(below: 3) }
                let page = ring.page(after: after, matching: filter, limit: limit)
                let oldest = max(1, number - entriesMax + 1)
                let expected = (1...number).filter {
                    let connection = all[$0 - 1].facts.connection
                    return $0 >= oldest && $0 > after
                        && (filter.connection == nil || filter.connection == connection)
                }.prefix(limit)
                #expect(page.entries.map(\.number) == Array(expected), "seed \(seed)")
                #expect(page.entries.allSatisfy { $0.entry.id == all[$0.number - 1].id })
                let missed = (1..<oldest).count { $0 > after }
                #expect(page.newest == number && page.missed == missed)
                #expect(page.entries.last.map { page.after >= $0.number } ?? true)
            }
        }
    }

    @Test func `a reader that follows the after field of each page reads everything once`() {
        var ring = JournalRing(entriesMax: 50_000, bytesMax: .max)
        for number in 1...25_000 { _ = ring.append(journalEntry(number, token: number == 24_000 ? 1 : 0)) }
        var tokens = TokenSet()
        let isToken = tokens.insert(ScriptSamples.token(1).description)
        #expect(isToken)
        var after = 0
        var foundNumbers: [Int] = []
        var pages = 0
        while after < ring.newest {
            let page = ring.page(after: after, matching: JournalRing.Filter(tokens: tokens), limit: 10)
            foundNumbers += page.entries.map(\.number)
            after = page.after
            pages += 1
        }
        #expect(foundNumbers == [24_000])
        #expect(pages == 3, "a page checks a limited number of entries")
    }

    @Test func `above the byte limit the oldest entries go, and one entry always stays`() {
        var ring = JournalRing(entriesMax: 1_000, bytesMax: 10_000)
        for number in 1...100 { _ = ring.append(journalEntry(number)) }
        #expect(ring.count < 20 && ring.count > 5 && ring.newest == 100)
        var tiny = JournalRing(entriesMax: 1_000, bytesMax: 1)
        for number in 1...3 { _ = tiny.append(journalEntry(number)) }
        #expect(tiny.count == 1)
    }

    @Test func `a dropped entry leaves the memory at once`() {
        var ring = JournalRing(entriesMax: 1_000, bytesMax: 1)
        var body = [UInt8](repeating: 7, count: 600)
        _ = ring.append(journalEntry(1, body: body))
        _ = ring.append(journalEntry(2))
        let address = unsafe body.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        // A change copies the bytes only if another holds them too.
        body[0] = 8
        let newAddress = unsafe body.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        #expect(newAddress == address)
    }

    @Test func `a filter finds an id, a status and a channel`() {
        let broadcast = journalEntry(1) { $0.target = .channel("c2hhbm5lbA==") }
        let refused = journalEntry(2, end: .answered(status: 410, reason: "Unregistered", isSent: true))
        let other = journalEntry(3, end: .silence)
        var ring = JournalRing(entriesMax: 10, bytesMax: .max)
        for entry in [broadcast, refused, other] { _ = ring.append(entry) }
        func numbers(_ filter: JournalRing.Filter) -> [Int] {
            ring.page(after: 0, matching: filter, limit: 10).entries.map(\.number)
        }
        #expect(numbers(JournalRing.Filter(channel: "c2hhbm5lbA==")) == [1])
        #expect(numbers(JournalRing.Filter(status: 410)) == [2])
        #expect(numbers(JournalRing.Filter(id: other.id)) == [3])
    }
}
