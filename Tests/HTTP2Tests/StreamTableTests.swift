import Simulation
import Testing

@testable import HTTP2

@Suite struct StreamTableTests {
    @Test func `a stream is in the table as long as it is open`() throws {
        for seed in 0..<trialCount(base: 30) {
            var random = SeededGenerator(seed: seed)
            let capacity = 1 + random.number(below: 60)
            let table = StreamTable(capacity: capacity)
            defer { table.free() }
            var model: [Int32: Int] = [:]
            var next: Int32 = 1
            for _ in 0..<1_000 {
                if model.count < capacity, random.number(below: 2) == 0 {
                    let slot = random.number(below: capacity)
                    table.insert(next, slot: slot)
                    model[next] = slot
                    next += 2 * Int32(1 + random.number(below: 3))
                } else if let stream = model.keys.sorted().dropFirst(
                    random.number(below: max(1, model.count))
                ).first {
                    table.remove(stream)
                    model[stream] = nil
                }
                table.remove(next)
                let found = stride(from: 1, to: next + 4, by: 2).filter { table.slot(of: $0) != nil }
                // A corrupt table may cause an endless loop, so the test stops at the first error.
                try #require(found == model.keys.sorted(), "seed \(seed)")
                for (stream, slot) in model { try #require(table.slot(of: stream) == slot, "seed \(seed)") }
            }
        }
    }
}
