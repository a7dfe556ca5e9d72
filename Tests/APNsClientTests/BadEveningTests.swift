import HTTP2
import Lifecycle
import Simulation
import Telemetry
import Testing

@testable import APNs
@testable import APNsSimulator

/// Many faults at once: connections that end every thousand requests with random last streams, refused
/// streams, and 500s. The simulator's journal is the truth to compare with.
@Suite struct BadEveningTests {
    /// Returns a script that ends the connection at one request in a thousand, with up to 200 of the last streams
    /// unprocessed, and that resets, delays and fails other requests.
    private func script(seed: Int) -> String {
        var random = SeededGenerator(seed: seed)
        let goodbyes = (0..<8).map { _ in
            #"{"match":{"share":0.000125},"goaway":{"streamsBack":\#(2 * random.number(below: 200))}}"#
        }
        let others = [
            #"{"match":{"share":0.05},"reset":{"code":"REFUSED_STREAM"}}"#,
            #"{"match":{"share":0.01},"answer":{"reason":"InternalServerError"}}"#,
            #"{"match":{"share":0.0005},"reset":{"code":"INTERNAL_ERROR","processed":true}}"#,
            #"{"delay":{"uniform":{"fromMilliseconds":0,"toMilliseconds":5}}}"#,
        ]
        return #"{"seed":\#(seed),"rules":[\#((goodbyes + others).joined(separator: ","))]}"#
    }

    @Test(.timeLimit(.minutes(5)), arguments: 1...2)
    func `no push is lost or duplicated, and uncertain pushes end as unknown`(seed: Int)
        async throws
    {
        let count = UInt64(trialCount(base: 5_000))
        let stand = try SimulatorStand(script(seed: seed))
        stand.pusher.push(1..<count + 1, deadlineMilliseconds: 240_000, profile: stand.profile)
        let outcomes = try await stand.pusher.allOutcomes(atLeast: Int(count), seconds: 240)
        let summary = stand.summary
        let answersWithStatus = { (status: Int) in
            summary.answered.filter { $0.key.status == status }.reduce(0) { $0 + $1.value }
        }
        var ends: [String: Int] = [:]
        for pushOutcomes in outcomes.values {
            #expect(pushOutcomes.count == 1, "seed \(seed)")
            ends["\(pushOutcomes[0].end) \(pushOutcomes[0].status)", default: 0] += 1
        }
        let details = "seed \(seed): \(ends), \(summary)"
        #expect(ends["answered 200", default: 0] == answersWithStatus(200), "\(details)")
        // If a GOAWAY overtakes an answer, the answer never arrives. Its push counts as unprocessed and is
        // sent again.
        #expect(
            ends["answered 500", default: 0] == answersWithStatus(500) - summary.answersLost, "\(details)")
        let unknown = ends["unknown(APNs.PushFault.reset) 0", default: 0]
        #expect(unknown == summary.resets[.internalError, default: 0], "\(details)")
        #expect(
            unknown + answersWithStatus(200) + answersWithStatus(500) - summary.answersLost == Int(count),
            "\(details)")
        #expect(summary.duplicatePushes == 0 && summary.idsNotTracked == 0, "\(details)")
        #expect(summary.notProcessed > 0 && summary.resets[.refusedStream, default: 0] > 0, "\(details)")
    }
}
