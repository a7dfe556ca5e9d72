import InstallationRecords
import Simulation
import Testing

@testable import Ingest

/// `deploy/prove ingest-histories` runs a million histories.
@Suite struct HistoryTests {
    private func check(
        _ what: String, _ histories: Int = trialCount(base: 500),
        _ live: (History, IngestRun, inout SeededGenerator) -> Void
    ) {
        var seeds = SystemRandomNumberGenerator()
        let base = seeds.next() >> 16
        for seed in base..<base + UInt64(histories) {
            var random = SeededGenerator(seed: seed)
            let history = History(&random)
            let run = IngestRun()
            live(history, run, &random)
            run.sweep(at: history.end)
            let model = RegistryModel(reports: history.list, now: history.end).rows
            let isRight = run.presentRows == model && run.divergence.isEmpty && run.rejections.isEmpty
            #expect(isRight, "\(what), seed \(seed)")
            if !isRight {
                print(differences(run, model))
                return
            }
        }
    }

    private func differences(_ run: IngestRun, _ model: [RegistryKey: RegistryRow]) -> String {
        let rows = run.presentRows
        let wrong = Set(rows.keys).union(model.keys).filter { rows[$0] != model[$0] }
        return wrong.map { "\($0): have \(rows[$0] as Any), want \(model[$0] as Any)" }
            .joined(separator: "\n")
            + run.divergence.map {
                "\ndiverging: \($0): have \(run.registry[$0] as Any), truth \(run.rows[$0] as Any)"
            }.joined()
    }

    @Test func `reports in the order of the server give the rows of the model`() {
        check("in order") { history, run, random in
            for received in history.list.sorted(by: { $0.at < $1.at }) {
                run.hear(received)
                if random.number(below: 4) == 0 { run.sweep(at: received.at) }
            }
        }
    }

    @Test func `any order and any repetition of the same reports give the same registry`() {
        check("shuffled") { history, run, random in
            var list = history.list
            for _ in 0..<random.number(below: 10) { list.append(list[random.number(below: list.count)]) }
            for received in list.shuffled(using: &random) {
                run.hear(received, now: history.end)
            }
        }
    }

    @Test func `reading the reports again from any offset changes nothing`() {
        check("replayed") { history, run, random in
            let list = history.list.sorted { $0.at < $1.at }
            for received in list { run.hear(received) }
            for received in list[random.number(below: list.count)...] {
                run.hear(received, now: history.end)
            }
        }
    }

    @Test func `a report merged twice in a row changes nothing, writes nothing and emits no event`() {
        check("twice") { history, run, _ in
            for received in history.list {
                run.hear(received, now: history.end)
                let (truth, written, events) = (run.truth, run.written, run.events.count)
                let again = run.hear(received, now: history.end)
                if case .unchanged = again {} else { Issue.record("merged again: \(again)") }
                #expect(run.truth == truth && run.written == written && run.events.count == events)
            }
        }
    }
}
