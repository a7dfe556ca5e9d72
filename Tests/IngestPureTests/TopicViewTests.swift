import Lifecycle
import ProcessTesting
import Simulation
import StageSupport
import Store
import Telemetry
import Testing

/// Tests of the file of a view against a set of keys. A key must be visible when its rows are written, even if it was
/// looked up before.
@Suite struct TopicViewTests {
    @Test func `a row exists from its insertion to its removal, however often it is looked up`()
        throws
    {
        var seeds = SystemRandomNumberGenerator()
        // It is shifted, so that the range cannot overflow.
        let firstSeed = seeds.next() >> 16
        for seed in firstSeed..<firstSeed + UInt64(trialCount(base: 40)) {
            var random = SeededGenerator(seed: seed)
            let directory = try TemporaryDirectory()
            let view = try TopicView(
                definition: TopicViewDefinition(topic: "rows", table: "rows", schema: 1), partition: 0,
                directory: directory.path, cluster: "here", deleteRetentionMilliseconds: .max,
                limits: EnvironmentLimits(), now: .now(), boot: BootID("boot"))
            // The topic is empty.
            view.advance(to: 0, now: .now())
            try view.writePendingRows { _ in }
            var writtenKeys: Set<[UInt8]> = []
            var pendingKeys: Set<[UInt8]> = []
            for step in 0..<150 {
                let key = random.bytes(count: 1...3).map { $0 % 5 }
                switch random.number(below: 8) {
                case 0:
                    view.put(key: key.span, value: [7].span)
                    pendingKeys.insert(key)
                case 1:
                    view.remove(key: key.span)
                    pendingKeys.remove(key)
                case 2:
                    try view.writePendingRows { _ in }
                    writtenKeys = pendingKeys
                default:
                    let isFound = try view.contains(key.span)
                    #expect(isFound == writtenKeys.contains(key), "seed \(seed), step \(step)")
                }
            }
            try view.close()
        }
    }
}
