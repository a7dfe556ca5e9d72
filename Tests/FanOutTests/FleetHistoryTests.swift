import Simulation
import Testing

struct FleetHistoryTests {
    @Test func `whatever happens, every phone ends on the newest state of its scope, and is started once`()
        throws
    {
        let seed = UInt64.random(in: 0...UInt64.max)
        for number in 0..<UInt64(trials(60)) {
            let history = try FleetHistory(seed: seed &+ number)
            do {
                try history.live(steps: 160)
            } catch let wrong as FleetHistory.Wrong {
                Issue.record("seed \(seed &+ number), step \(history.steps): \(wrong)")
                return
            }
        }
        print("fleet histories from seed \(seed)")
    }
}
