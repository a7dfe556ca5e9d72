import Simulation
import Testing

@testable import HTTP2

/// The table of open streams, compared with a dictionary.
@Suite struct StreamTableTests {
    @Test func `a stream is in the table as long as it is open`() throws {
        for seed in 0..<trialCount(base: 30) {
            var random = SeededGenerator(seed: seed)
            let capacity = 1 + random.number(below: 60)
            let table = StreamTable(capacity: capacity)
            defer { table.free() }
            var model: [Int32: Int] = [:]
            var nextStream: Int32 = 1
            for _ in 0..<1_000 {
                if model.count < capacity, random.number(below: 2) == 0 {
                    let slot = random.number(below: capacity)
                    table.insert(nextStream, slot: slot)
                    model[nextStream] = slot
                    nextStream += 2 * Int32(1 + random.number(below: 3))
                } else if let stream = model.keys.sorted().randomElement(using: &random) {
                    table.remove(stream)
                    model[stream] = nil
                }
                // This stream is not in the table, so its removal changes nothing.
                table.remove(nextStream)
                let presentStreams = stride(from: 1, to: nextStream + 4, by: 2).filter {
                    table.slot(of: $0) != nil
                }
                // A corrupt table may cause an endless loop, so the test stops at the first error.
                try #require(presentStreams == model.keys.sorted(), "seed \(seed)")
                for (stream, slot) in model { try #require(table.slot(of: stream) == slot, "seed \(seed)") }
            }
        }
    }
}
