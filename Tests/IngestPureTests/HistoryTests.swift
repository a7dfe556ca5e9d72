import InstallationRecords
import Simulation
import Testing

@testable import Ingest

/// Tests of the rules of merging against a second implementation. A `History` is a random list of reports about one
/// phone. Each test gives it to an `IngestRun` in another order, and expects the rows of `RegistryModel`, which
/// searches the whole list for each row. `deploy/prove ingest-histories` runs a million histories.
@Suite struct HistoryTests {
    /// Makes random histories, lets `merge` give the reports of each to a run, and compares the run's rows with the
    /// model's rows at the end of the history.
    private func expectModelRows(
        histories: Int = trialCount(base: 500),
        afterMerging merge: (History, IngestRun, inout SeededGenerator) -> Void
    ) {
        var seeds = SystemRandomNumberGenerator()
        // A random start, so that each run tries other histories. It is shifted, so that the range cannot overflow.
        let firstSeed = seeds.next() >> 16
        for seed in firstSeed..<firstSeed + UInt64(histories) {
            var random = SeededGenerator(seed: seed)
            let history = History(using: &random)
            let run = IngestRun()
            merge(history, run, &random)
            run.sweep(at: history.end)
            let model = RegistryModel(reports: history.reports, now: history.end).rows
            let hasModelRows = run.rowsOfPresentRecipients == model
            let isRight = hasModelRows && run.keysThatDiffer.isEmpty && run.rejections.isEmpty
            #expect(isRight, "seed \(seed): \(differences(of: run, from: model))")
            if !isRight { return }
        }
    }

    private func differences(of run: IngestRun, from model: [RegistryKey: RegistryRow]) -> String {
        let rows = run.rowsOfPresentRecipients
        let wrongKeys = Set(rows.keys).union(model.keys).filter { rows[$0] != model[$0] }
        let wrongRows = wrongKeys.map { key in
            "\(key): has \(rows[key] as Any), the model has \(model[key] as Any)"
        }
        let divergingRows = run.keysThatDiffer.map { key in
            "\(key): the registry has \(run.registry[key] as Any), "
                + "the installations give \(run.rowsOfInstallations[key] as Any)"
        }
        return (wrongRows + divergingRows + run.rejections.map { "rejected: \($0)" }).joined(separator: "\n")
    }

    @Test func `reports in the order of the server give the rows of the model`() {
        expectModelRows { history, run, random in
            for received in history.reports.sorted(by: { $0.receivedAt < $1.receivedAt }) {
                run.merge(received)
                if random.number(below: 4) == 0 { run.sweep(at: received.receivedAt) }
            }
        }
    }

    @Test func `any order and any repetition of the same reports give the same registry`() {
        expectModelRows { history, run, random in
            var reports = history.reports
            for _ in 0..<random.number(below: 10) {
                reports.append(reports[random.number(below: reports.count)])
            }
            for received in reports.shuffled(using: &random) {
                run.merge(received, now: history.end)
            }
        }
    }

    @Test func `reading the reports again from any offset changes nothing`() {
        expectModelRows { history, run, random in
            let reports = history.reports.sorted { $0.receivedAt < $1.receivedAt }
            for received in reports { run.merge(received) }
            for received in reports[random.number(below: reports.count)...] {
                run.merge(received, now: history.end)
            }
        }
    }

    @Test func `a report merged twice in a row changes nothing, writes nothing and emits no event`() {
        expectModelRows { history, run, _ in
            for received in history.reports {
                run.merge(received, now: history.end)
                let installationsBefore = run.installations
                let writeCountBefore = run.writeCount
                let eventCountBefore = run.events.count
                let outcome = run.merge(received, now: history.end)
                if case .unchanged = outcome {} else { Issue.record("merged again: \(outcome)") }
                #expect(run.installations == installationsBefore)
                #expect(run.writeCount == writeCountBefore)
                #expect(run.events.count == eventCountBefore)
            }
        }
    }
}
