import Identifiers
import InstallationRecords
import Simulation
import Testing
import TokenSealing

@testable import Ingest

/// A merge compares only the rows that the report touches. The result must equal a comparison of all rows.
@Suite struct SameRecipientChangesTests {
    @Test func `the changes of touched rows equal a comparison of all rows`() {
        var seeds = SystemRandomNumberGenerator()
        // It is shifted, so that the range cannot overflow.
        let firstSeed = seeds.next() >> 16
        var comparedChanges = 0
        for seed in firstSeed..<firstSeed + UInt64(trialCount(base: 300)) {
            var random = SeededGenerator(seed: seed)
            let history = History(using: &random)
            let merger = ReportMerger(app: History.app, seal: TokenSeal(keys: nil))
            var installations: [Recipient: Installation] = [:]
            for received in history.reports.shuffled(using: &random) {
                let old = installations[received.report.subject]
                let arrival = ReportArrival(receivedAt: received.receivedAt, offset: received.offset)
                let outcome = merger.merge(received.report, arrival: arrival, into: old, now: history.end)
                guard case .merged(let merged) = outcome else { continue }
                let new = merged.installation
                installations[new.subject] = new
                guard merged.mustBeWritten else { continue }
                let expectedChanges = RegistryChange.between(
                    RegistryRows(of: old), and: RegistryRows(of: new), interval: merger.writeInterval)
                comparedChanges += expectedChanges.count
                let areEqual =
                    Set(merged.changes) == Set(expectedChanges)
                    && merged.changes.count == expectedChanges.count
                if !areEqual {
                    Issue.record("seed \(seed): \(merged.changes), not \(expectedChanges)")
                    return
                }
                let closed = merged.events.filter { $0.code == .closed }.compactMap(\.activity)
                #expect(Set(closed) == endedActivities(from: old, to: new), "seed \(seed)")
                #expect(Set(closed).count == closed.count, "seed \(seed): an activity ends twice")
            }
        }
        #expect(comparedChanges > 0)
    }

    /// Returns the activities that have ended in the new state and not in the old one.
    private func endedActivities(from old: Installation?, to new: Installation) -> Set<String> {
        let activities = new.activities.filter { activity in
            guard new.endCause(of: activity) != nil else { return false }
            guard let old, let known = old.activities.first(where: { $0.id == activity.id }) else {
                return activity.closing != nil
            }
            return old.endCause(of: known) == nil
        }
        return Set(activities.map(\.id))
    }
}
