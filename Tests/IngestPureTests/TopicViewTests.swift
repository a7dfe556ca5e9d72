import Lifecycle
import ProcessTesting
import Simulation
import Stages
import Store
import Telemetry
import Testing

/// A view's file against a set of keys: what was entered is there at once, whatever was asked for before.
@Suite struct TopicViewTests {
    @Test func `a row is there from when it is entered until it is taken out, however often it is asked for`()
        throws
    {
        var seeds = SystemRandomNumberGenerator()
        let base = seeds.next() >> 16
        for seed in base..<base + UInt64(trials(40)) {
            var random = SeededGenerator(seed)
            let directory = try TemporaryDirectory()
            let view = try TopicView(
                TopicViewForm(topic: "rows", table: "rows", schema: 1), partition: 0,
                directory: directory.path, cluster: "here", deleteRetentionMilliseconds: .max,
                limits: Limits(), now: .now(), boot: BootID("boot"))
            var (keys, next): (Set<[UInt8]>, Set<[UInt8]>) = ([], [])
            for step in 0..<150 {
                let key = random.bytes(1...3).map { $0 % 5 }
                switch random.below(8) {
                case 0:
                    view.keep(key.span, [7].span)
                    next.insert(key)
                case 1:
                    view.drop(key.span)
                    next.remove(key)
                case 2:
                    try view.settle { _ in }
                    keys = next
                default:
                    let isThere = try view.has(key.span)
                    #expect(isThere == keys.contains(key), "seed \(seed), step \(step)")
                }
            }
            try view.close()
        }
    }
}
