import Identifiers
import InstallationRecords
import Simulation
import Testing
import TokenSealing

@testable import Ingest

/// The changes of touched rows against the comparison of all rows.
@Suite struct SameRecipientChangesTests {
    @Test func `the changes of touched rows equal a comparison of all rows`() {
        var seeds = SystemRandomNumberGenerator()
        let base = seeds.next() >> 16
        var compared = 0
        for seed in base..<base + UInt64(trialCount(base: 300)) {
            var random = SeededGenerator(seed: seed)
            let history = History(&random)
            let merge = ReportMerger(app: History.app, seal: TokenSeal(keys: nil))
            var truth: [Recipient: Installation] = [:]
            for received in history.list.shuffled(using: &random) {
                let old = truth[received.report.subject]
                let outcome = merge.merge(
                    received.report, arrival: ReportArrival(receivedAt: received.at, offset: received.offset),
                    into: old,
                    now: history.end)
                guard case .merged(let merged) = outcome else { continue }
                let new = merged.installation
                truth[new.subject] = new
                guard merged.mustBeWritten else { continue }
                let all = RegistryChange.between(
                    RegistryRows(of: old), and: RegistryRows(of: new), interval: merge.writeInterval)
                compared += all.count
                if Set(merged.changes) != Set(all) || merged.changes.count != all.count {
                    Issue.record("seed \(seed): \(merged.changes) against \(all)")
                    return
                }
                let closed = merged.events.filter { $0.code == .closed }.compactMap(\.activity)
                #expect(Set(closed) == ended(old, new) && Set(closed).count == closed.count, "seed \(seed)")
            }
        }
        #expect(compared > 0)
    }

    /// The activities that are over now and were not before.
    private func ended(_ old: Installation?, _ new: Installation) -> Set<String> {
        let over = new.activities.filter { activity in
            guard new.endCause(of: activity) != nil else { return false }
            guard let old, let known = old.activities.first(where: { $0.id == activity.id }) else {
                return activity.closing != nil
            }
            return old.endCause(of: known) == nil
        }
        return Set(over.map(\.id))
    }
}
